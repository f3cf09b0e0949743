#!/bin/sh
set -e
celery --app shop beat &
exec "$@"
