import { Module } from '@nestjs/common';
import { ScheduleModule } from '@nestjs/schedule';
import { DigestService } from '@shop/jobs';

@Module({ imports: [ScheduleModule.forRoot()], providers: [DigestService] })
export class AppModule {}
