import { Injectable, Logger } from '@nestjs/common';
import { Cron, CronExpression } from '@nestjs/schedule';

@Injectable()
export class InvoiceScheduler {
  private readonly logger = new Logger(InvoiceScheduler.name);

  @Cron(CronExpression.EVERY_DAY_AT_6AM, { name: 'invoices', timeZone: 'Europe/Berlin' })
  async sendInvoices() {
    this.logger.log('invoices');
  }
}
