const express = require('express');
// const cron = require('node-cron');

const app = express();
// cron.schedule('0 6 * * *', () => sendDigest());
app.listen(3000);
