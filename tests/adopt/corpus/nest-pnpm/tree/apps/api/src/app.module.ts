import { Module } from '@nestjs/common';
import { ScheduleModule } from '@nestjs/schedule';
import { BillingModule } from '@app/billing/billing.module';

@Module({ imports: [ScheduleModule.forRoot(), BillingModule] })
export class AppModule {}
