// The job under its guard, on a ledger in a file. No AWS is needed: node --test job.test.mjs
// CRONCE names the program, if it is not the `cronce` in PATH.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";

const folder = mkdtempSync(join(tmpdir(), "job-"));
after(() => rmSync(folder, { recursive: true }));

function start(ledger, period) {
  const guard = ["exec", "--ledger", `sqlite:///${join(folder, ledger)}`, "--job", "{{job}}", "--period", period, "--"];
  const job = [process.execPath, join(import.meta.dirname, "job.mjs")];
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("CRONCE_")));
  return spawnSync(process.env.CRONCE || "cronce", [...guard, ...job], { encoding: "utf8", env });
}

test("the second start was refused", () => {
  const first = start("twice.db", "2026-11-30");
  assert.deepEqual([first.status, first.stdout], [0, "digest for 2026-11-30\n"], first.stderr);
  const second = start("twice.db", "2026-11-30");
  assert.deepEqual([second.status, second.stdout], [0, ""], second.stderr);
  assert.match(second.stderr, /ALREADY_SUCCEEDED/);
});

test("the next period is another run", () => {
  for (const period of ["2026-11-30", "2026-12-01"]) {
    assert.equal(start("next.db", period).stdout, `digest for ${period}\n`);
  }
});
