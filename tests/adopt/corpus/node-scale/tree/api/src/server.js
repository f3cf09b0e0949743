const express = require('express');
require('./cron');

express().listen(3000);
