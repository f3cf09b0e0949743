#!/bin/sh
# The same digest in plain shell: cronce exec -- ./digest.sh
# cronce hands over the period and the last checkpoint, and `cronce checkpoint` stores the next one.
set -eu

customers=${DIGEST_CUSTOMERS:-3100}
batch=500
sent=${CRONCE_RESUME_FROM:-0}
outbox=$(mktemp -d)
trap 'rm -rf "$outbox"' EXIT
trap 'exit 143' TERM

while [ "$sent" -lt "$customers" ]; do
    end=$((sent + batch))
    [ "$end" -le "$customers" ] || end=$customers
    while [ "$sent" -lt "$end" ]; do
        echo "Good morning, customer $sent! This is your digest of $CRONCE_PERIOD." >"$outbox/$(printf %05d "$sent").txt"
        sent=$((sent + 1))
    done
    aws s3 mv --recursive --only-show-errors "$outbox" "s3://$DIGEST_BUCKET/$CRONCE_JOB/$CRONCE_PERIOD/"
    cronce checkpoint "$sent"
done
