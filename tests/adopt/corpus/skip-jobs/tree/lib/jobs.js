const schedule = require('node-schedule');
exports.init = function init() {
  schedule.scheduleJob('30 1 * * *', () => {});
};
