import { Queue, Worker } from 'bullmq';

const queue = new Queue('digest', { connection });
await queue.upsertJobScheduler('daily', { pattern: '0 6 * * *' }, { name: 'digest' });
new Worker('digest', run, { connection });
