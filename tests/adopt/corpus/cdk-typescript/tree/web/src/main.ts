import { schedule } from 'node-cron';

function digest() {
  console.log('digest');
}

schedule('0 6 * * *', digest, { noOverlap: true });
