import { Module } from '@nestjs/common';
import { InvoiceScheduler } from './invoice.scheduler';

@Module({ providers: [InvoiceScheduler] })
export class BillingModule {}
