import cron, { ScheduledTask } from 'node-cron';

class CronService {
  private tasks: ScheduledTask[] = [];

  public start(): void {
    this.tasks.push(cron.schedule('0 6 * * *', this.digest.bind(this)));
  }

  private digest() {}
}

export default CronService;
