#!/bin/bash
python manage.py migrate --noinput
python manage.py crontab add
service cron start
gunicorn proj.wsgi:application -b :8000
