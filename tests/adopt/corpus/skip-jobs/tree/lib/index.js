'use strict';
const config = require('./config');
const server = require('./server');
const jobs = require('./jobs');

async function main() {
  await server.listen();
  if (!config.skipJobs) {
    jobs.init();
  }
}

main().catch((err) => { console.error(err); process.exit(1); });
