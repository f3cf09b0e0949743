import Redis from 'ioredis';
import Redlock from 'redlock';
import { schedule } from 'node-cron';

const redlock = new Redlock([new Redis(process.env.REDIS_URL!)]);

export function start() {
  schedule('0 0 * * *', async () => {
    await redlock.using(['nightly'], 60_000, async (signal) => {
      await work(signal);
    });
  });
}
async function work(_: unknown) {}
