exports.listen = async () => require('http').createServer().listen(3000);
