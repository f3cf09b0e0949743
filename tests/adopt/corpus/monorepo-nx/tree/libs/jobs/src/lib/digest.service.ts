import { Injectable } from '@nestjs/common';
import { Cron } from '@nestjs/schedule';

@Injectable()
export class DigestService {
  @Cron('0 6 * * *', { name: 'digest', timeZone: 'Europe/Berlin', waitForCompletion: true })
  async send(): Promise<void> {}
}
