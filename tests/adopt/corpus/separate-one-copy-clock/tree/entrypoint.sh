#!/bin/sh
case "$1" in
  web)
    exec gunicorn news.wsgi:app --workers 2
    ;;
  clock)
    exec python -m news.clock
    ;;
  *)
    exec "$@"
    ;;
esac
