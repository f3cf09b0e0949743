exports.run = async () => {};
