from celery import Celery
from celery.schedules import crontab

app = Celery("shop")
app.conf.beat_schedule = {
    "digest": {
        "task": "shop.tasks.digest",
        "schedule": crontab(hour=6, minute=0),
        "options": {"expires": 600},
    },
}
