#!/bin/bash
set -euo pipefail
flask db upgrade
exec gunicorn -w "${WEB_CONCURRENCY:-4}" -b 0.0.0.0:8000 wsgi:app
