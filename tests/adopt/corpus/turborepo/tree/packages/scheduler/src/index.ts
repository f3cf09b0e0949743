import cron from 'node-cron';

export function startJobs(): void {
  cron.schedule('0 6 * * *', sendDigest, { noOverlap: true });
}

function sendDigest(): void {
  console.log('digest');
}
