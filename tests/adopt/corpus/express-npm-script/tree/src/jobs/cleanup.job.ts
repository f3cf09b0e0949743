import { CronJob } from 'cron';
import { purgeCarts } from '../services/carts';

export const cleanupJob = () =>
  new CronJob('0 0 3 * * *', async () => {
    await purgeCarts();
  });
