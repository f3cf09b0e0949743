const express = require('express');
const { poll } = require('./poll');
express().listen(3000);
setInterval(poll, 15 * 1000);
