import http from 'http';
export const createServer = () => http.createServer();
