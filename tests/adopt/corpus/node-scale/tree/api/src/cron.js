const cron = require('node-cron');

function digest() {
  console.log('digest');
}

cron.schedule('0 6 * * *', digest, { noOverlap: true });
