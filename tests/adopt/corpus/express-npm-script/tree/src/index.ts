import express from 'express';
import { registerJobs } from './jobs';

const app = express();
app.get('/healthz', (_req, res) => res.send('ok'));
app.listen(8080, () => {
  registerJobs();
});
