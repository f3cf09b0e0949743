import schedule, { RecurrenceRule } from 'node-schedule';

const rule = new RecurrenceRule();
rule.hour = 7;
rule.minute = 30;

schedule.scheduleJob('appointment-reminders', rule, async () => {
  console.log('remind');
});
