const { sendDigest } = require('../lib/digest');
sendDigest().then(() => process.exit(0));
