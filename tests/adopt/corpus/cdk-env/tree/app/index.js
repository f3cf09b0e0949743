const { startJobs } = require('./jobs');
const app = require('express')();
if (process.env.ENABLE_JOBS === '1') startJobs();
app.listen(80);
