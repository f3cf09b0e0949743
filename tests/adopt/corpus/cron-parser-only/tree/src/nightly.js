require('./report').run().finally(() => process.exit());
