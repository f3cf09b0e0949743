const cron = require('node-cron');
module.exports.every = (expression, job) => cron.schedule(expression, job);
