const express = require("express");
const cron = require("node-cron");

const app = express();

cron.schedule(
  "0 6 * * *",
  async () => {
    const day = new Date().toISOString().slice(0, 10);
    await sendDigest(day);
  },
  { timezone: "Europe/Berlin" },
);

app.listen(3000);
