const { CronExpressionParser } = require('cron-parser');

module.exports = (text) => CronExpressionParser.parse(text).next();
