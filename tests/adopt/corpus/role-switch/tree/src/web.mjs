import http from 'node:http';
export async function serve() { http.createServer().listen(80); }
