const cron = require('node-cron');
const { sync } = require('./sync');

cron.schedule('15 2 * * *', () => sync());
