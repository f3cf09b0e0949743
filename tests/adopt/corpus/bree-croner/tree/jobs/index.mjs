import Bree from 'bree';

const bree = new Bree({
  jobs: [{ name: 'digest', cron: '0 6 * * *' }],
});
await bree.start();
