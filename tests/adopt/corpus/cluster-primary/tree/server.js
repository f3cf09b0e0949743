import cluster from 'node:cluster';
import { availableParallelism } from 'node:os';
import cron from 'node-cron';
import { app } from './app.js';

if (cluster.isPrimary) {
  for (let i = 0; i < availableParallelism(); i++) cluster.fork();
  cron.schedule('15 2 * * *', () => console.log('sync'));
} else {
  app.listen(3000);
}
