import { AsyncTask, SimpleIntervalJob, ToadScheduler } from 'toad-scheduler';

export function startJobs(): ToadScheduler {
  const scheduler = new ToadScheduler();
  const task = new AsyncTask('refresh', async () => {});
  scheduler.addSimpleIntervalJob(new SimpleIntervalJob({ hours: 6 }, task));
  return scheduler;
}
