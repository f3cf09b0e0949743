const { CronJob } = require('cron');
const { run } = require('./nightly');

const job = CronJob.from({ cronTime: '0 0 1 * * *', onTick: run, start: true, waitForCompletion: true });
