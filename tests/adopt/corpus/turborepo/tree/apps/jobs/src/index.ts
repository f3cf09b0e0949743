import { startJobs } from '@acme/scheduler';

startJobs();
