exports.sync = async () => {};
