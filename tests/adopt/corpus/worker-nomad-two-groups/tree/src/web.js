require('http').createServer().listen(80);
