import cron from 'node-cron';
export function startScheduler() {
  cron.schedule('0 * * * *', () => console.log('hourly'));
}
