import { RetentionService } from './services/RetentionService';
import { createServer } from './server';

const retention = new RetentionService();
retention.start();
createServer().listen(4000);
