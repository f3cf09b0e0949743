// The job: it prints its digest for the period that it is given. It never asks the clock what it is for.

console.log(`digest for ${process.env.CRONCE_PERIOD}`);
