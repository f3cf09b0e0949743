import * as schedule from 'node-schedule';

schedule.scheduleJob({ hour: 6, minute: 0, tz: 'Europe/Rome' }, () => {
  console.log('digest');
});
