#!/bin/sh
# To have a schedule, run: celery -A shop beat
echo "start celery beat by hand"
exec celery -A shop worker -l info --concurrency 4
