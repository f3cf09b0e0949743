import { Injectable } from '@nestjs/common';
import { Cron } from '@nestjs/schedule';
@Injectable()
export class TasksService {
  @Cron('0 2 * * *')
  async nightly() {}
}
