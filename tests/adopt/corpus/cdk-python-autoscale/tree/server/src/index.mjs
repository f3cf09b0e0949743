import { build } from './app.mjs';
const app = await build();
await app.listen({ port: 80 });
