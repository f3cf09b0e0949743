require('./queue');
