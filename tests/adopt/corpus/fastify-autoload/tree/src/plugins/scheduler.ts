import fp from 'fastify-plugin';
import { CronJob } from 'cron';

export default fp(async (fastify) => {
  const job = new CronJob('0 0 2 * * *', () => fastify.log.info('compact'));
  fastify.addHook('onReady', async () => job.start());
});
