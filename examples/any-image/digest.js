// The digest in Node.js: cronce exec -- node digest.js
// It prints its mails, and after each batch it stores how far it got with `cronce checkpoint`.
const { execFileSync } = require("node:child_process");
const { writeSync } = require("node:fs");

const cronce = process.env.DIGEST_CRONCE || "/cronce/cronce";
const customers = Number(process.env.DIGEST_CUSTOMERS || 3100);
const pause = Number(process.env.DIGEST_PAUSE || 0) * 1000;
const waiting = new Int32Array(new SharedArrayBuffer(4));

for (let sent = Number(process.env.CRONCE_RESUME_FROM || 0); sent < customers; ) {
  const end = Math.min(sent + 100, customers);
  for (; sent < end; sent++) {
    writeSync(1, `Good morning, customer ${sent}! This is your digest of ${process.env.CRONCE_PERIOD}.\n`);
  }
  Atomics.wait(waiting, 0, 0, pause);
  execFileSync(cronce, ["checkpoint", String(sent)], { stdio: "inherit" });
}
