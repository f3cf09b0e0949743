require('http').createServer((q, r) => r.end()).listen(80);
