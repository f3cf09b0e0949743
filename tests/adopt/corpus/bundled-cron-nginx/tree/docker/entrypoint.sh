#!/bin/sh
set -e
crond -b -l 8
nginx
exec php-fpm
