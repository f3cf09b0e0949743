const cron = require('node-cron');
const express = require('express');

function report() {}

if (process.env.RUN_CRON === 'true') {
  cron.schedule('0 6 * * *', report, { noOverlap: true });
}

express().listen(3000);
