#!/bin/sh
set -e
# celery worker -B would start beat too
exec celery --app=shop worker \
    --loglevel=info \
    -B
