import { cleanupJob } from './cleanup.job';

export function registerJobs() {
  cleanupJob().start();
}
