import Bree from 'bree';
import path from 'path';

const bree = new Bree({
  root: path.join(__dirname, 'jobs'),
  jobs: [{ name: 'vacuum', cron: '0 3 * * *' }],
});

(async () => {
  await bree.start();
})();
