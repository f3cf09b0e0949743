exec celery -A shop flower
