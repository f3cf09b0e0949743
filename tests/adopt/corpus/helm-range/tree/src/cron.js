const { schedule } = require('node-cron');

module.exports.start = function start() {
  schedule('0 6 * * *', () => console.log('digest'));
};
