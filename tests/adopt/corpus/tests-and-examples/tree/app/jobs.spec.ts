import cron from 'node-cron';
cron.schedule('* * * * *', run);
