import { createServer } from 'node:http';
import { startJobs } from './jobs.js';

startJobs();
createServer((_q, r) => r.end('ok')).listen(8080);
