import Fastify from 'fastify';

const DAY_MS = 24 * 60 * 60 * 1000;

export async function build() {
  const app = Fastify();
  setInterval(() => purge(app).catch(app.log.error), DAY_MS);
  return app;
}

async function purge() {}
