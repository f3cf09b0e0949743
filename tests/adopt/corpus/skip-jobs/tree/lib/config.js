module.exports = {
  port: Number(process.env.PORT || 3000),
  skipJobs: process.env.SKIP_JOBS === 'true',
};
