import { ONE_DAY } from '../constants';

export class RetentionService {
  private timer?: NodeJS.Timeout;

  start() {
    this.timer = setInterval(() => this.deleteExpired(), ONE_DAY);
  }

  private async deleteExpired() {}
}
