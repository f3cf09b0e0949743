import http from 'http';
import './services/reminders';

http.createServer((_q, r) => r.end('ok')).listen(3000);
