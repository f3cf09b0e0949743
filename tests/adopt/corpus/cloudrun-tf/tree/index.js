import schedule from 'node-schedule';
import http from 'node:http';

const job = schedule.scheduleJob('0 9 * * *', async () => {
  await fetch('https://api.example.com/notify', { method: 'POST' });
});
http.createServer((req, res) => res.end('ok')).listen(8080);
