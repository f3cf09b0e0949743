import { Cron } from 'croner';

export async function startAll() {
  new Cron('0 0 * * *', { protect: true, timezone: 'UTC' }, () => console.log('rotate'));
}
