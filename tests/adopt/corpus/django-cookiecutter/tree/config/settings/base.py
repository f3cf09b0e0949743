INSTALLED_APPS = ["django_celery_beat", "users"]
CELERY_BEAT_SCHEDULER = "django_celery_beat.schedulers:DatabaseScheduler"
