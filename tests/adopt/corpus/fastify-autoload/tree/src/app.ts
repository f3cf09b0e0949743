import { join } from 'path';
import AutoLoad from '@fastify/autoload';
import { FastifyPluginAsync } from 'fastify';

const app: FastifyPluginAsync = async (fastify, opts) => {
  fastify.register(AutoLoad, { dir: join(__dirname, 'plugins'), options: opts });
  fastify.register(AutoLoad, { dir: join(__dirname, 'routes'), options: opts });
};
export default app;
