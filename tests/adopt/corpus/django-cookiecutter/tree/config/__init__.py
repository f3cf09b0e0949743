from .celery_app import app
