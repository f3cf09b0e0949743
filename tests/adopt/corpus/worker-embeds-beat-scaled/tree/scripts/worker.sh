#!/bin/sh
export C_FORCE_ROOT=1
exec celery --app api.worker:celery worker --beat --loglevel=info
