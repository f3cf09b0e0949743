import { Cron } from 'croner';
import { Hono } from 'hono';
import { serve } from '@hono/node-server';

new Cron('@daily', { protect: true }, async () => console.log('rollup'));
serve(new Hono());
