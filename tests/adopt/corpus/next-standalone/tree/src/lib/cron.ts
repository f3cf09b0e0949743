import cron from 'node-cron';
import { rebuildSitemap } from './sitemap';

let started = false;

export function startCron() {
  if (started) return;
  started = true;
  cron.schedule('0 3 * * *', () => rebuildSitemap());
}
