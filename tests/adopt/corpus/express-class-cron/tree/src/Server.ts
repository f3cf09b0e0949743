import express, { Express } from 'express';
import CronService from './cron/CronService';

export class Server {
  private app: Express = express();
  private cron = new CronService();

  listen(port: number) {
    this.cron.start();
    this.app.listen(port);
  }
}
