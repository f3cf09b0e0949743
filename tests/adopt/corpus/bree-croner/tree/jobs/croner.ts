import { Cron } from 'croner';
import { rollup } from './rollup';

export const job = new Cron('0 3 * * *', { protect: true }, rollup);
