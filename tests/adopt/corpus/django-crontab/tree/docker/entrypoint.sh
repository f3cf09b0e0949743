#!/bin/sh
python manage.py crontab add
service cron start
exec gunicorn shop.wsgi
