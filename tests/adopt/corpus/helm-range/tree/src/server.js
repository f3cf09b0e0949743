const app = require('express')();
require('./cron').start();
app.listen(8080);
