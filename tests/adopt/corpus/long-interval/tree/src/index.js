import http from 'node:http';
import { sendReports } from './reports.js';

const HOUR = 60 * 60 * 1000;
const DAY = 24 * HOUR;

const cache = new Map();
setInterval(() => cache.clear(), HOUR);
setInterval(() => ping(), 30_000);

http.createServer(handle).listen(8080, () => {
  setInterval(sendReports, DAY);
});
