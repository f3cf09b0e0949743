const schedule = require('node-schedule');
exports.startJobs = () => {
  schedule.scheduleJob('0 0 * * 0', weekly);
};
async function weekly() {}
