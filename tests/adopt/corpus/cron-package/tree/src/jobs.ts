import { CronJob as Job } from 'cron';
import { digest } from './digest';

export const job = Job.from({
  cronTime: '0 6 * * *',
  onTick: digest,
  waitForCompletion: true,
  start: true,
});
