module.exports = {
  apps: [
    { name: 'api', script: 'dist/api.js', instances: 4, exec_mode: 'cluster' },
    { name: 'cron', script: 'dist/cron.js', instances: 1, exec_mode: 'fork' },
  ],
};
