import { Injectable } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';

@Injectable()
export class SyncService {
  @Interval(3 * 60 * 60 * 1000)
  async pull() {}
}
