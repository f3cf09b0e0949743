import { Server } from './Server';
new Server().listen(3000);
