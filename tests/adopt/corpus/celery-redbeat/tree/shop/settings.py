CELERY_BEAT_SCHEDULER = "redbeat.RedBeatScheduler"
CELERY_BEAT_SCHEDULE = {
    "digest": {"task": "shop.tasks.digest", "schedule": 3600, "options": {"expires": 300}},
}
