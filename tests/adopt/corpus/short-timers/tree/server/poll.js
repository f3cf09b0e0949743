exports.poll = async () => {};
