export default async function (fastify) { fastify.get('/', async () => ({ ok: true })); }
