const cluster = require('cluster');
const os = require('os');

if (cluster.isPrimary) {
  for (let i = 0; i < os.cpus().length; i++) {
    cluster.fork();
  }
  cluster.on('exit', () => cluster.fork());
} else {
  require('./lib/jobs');
  require('./lib/app').listen(process.env.PORT || 3000);
}
