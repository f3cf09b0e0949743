exports.sendDigest = async () => {};
