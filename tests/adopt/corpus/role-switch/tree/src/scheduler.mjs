import { Cron } from 'croner';
export function schedule() {
  new Cron('0 7 * * *', { protect: true }, report);
}
function report() {}
