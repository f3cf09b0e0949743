import { CronJob } from 'cron';

function digest() {
  console.log('digest');
}

CronJob.from({ cronTime: '0 0 6 * * *', onTick: digest, start: true, waitForCompletion: true });
