#!/bin/sh
bundle exec whenever --update-crontab
exec cron -f
