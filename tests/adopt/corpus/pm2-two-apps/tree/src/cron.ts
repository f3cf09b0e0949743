import cron from 'node-cron';
import { digest } from './digest';
cron.schedule('0 6 * * 1', digest);
