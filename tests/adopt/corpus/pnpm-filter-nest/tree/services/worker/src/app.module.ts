import { Module } from '@nestjs/common';
import { ScheduleModule } from '@nestjs/schedule';
import { RatesJob } from './jobs/rates.job';
@Module({ imports: [ScheduleModule.forRoot()], providers: [RatesJob] })
export class AppModule {}
