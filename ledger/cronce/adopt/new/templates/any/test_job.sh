#!/bin/sh
# The job under its guard, on a ledger in a file. No AWS is needed: sh test_job.sh
# CRONCE names the program, if it is not the `cronce` in PATH.
set -eu

here=$(cd -- "$(dirname -- "$0")" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
job="{{job}}"

start() {
    "${CRONCE:-cronce}" exec --ledger "sqlite:///$folder/runs.db" --job "$job" --period "$1" -- \
        sh "$here/job.sh" >"$folder/out" 2>"$folder/log" || fail "a start ended with $?"
}

fail() {
    echo "FAILED: $1" >&2
    cat "$folder/log" >&2
    exit 1
}

start 2026-11-30
[ "$(cat "$folder/out")" = "digest for 2026-11-30" ] || fail "the first start did not do the work"
echo "the first start did the work"

start 2026-11-30
[ ! -s "$folder/out" ] && grep -q ALREADY_SUCCEEDED "$folder/log" || fail "the second start was not refused"
echo "the second start was refused"

start 2026-12-01
[ "$(cat "$folder/out")" = "digest for 2026-12-01" ] || fail "the next period did not run"
echo "the next period is another run"
