import { Injectable } from '@nestjs/common';
import { Cron, CronExpression, Interval } from '@nestjs/schedule';

@Injectable()
export class DigestService {
  @Cron(CronExpression.EVERY_DAY_AT_6AM, { name: 'digest', waitForCompletion: true })
  async send(): Promise<void> {
    await this.mailer.send();
  }

  @Interval(5_000)
  poll(): void {}
}
