import * as cron from 'node-cron';

export function startCron() {
  cron.schedule('0 6 * * *', sendDigest, { noOverlap: true });
}

async function sendDigest() {}
