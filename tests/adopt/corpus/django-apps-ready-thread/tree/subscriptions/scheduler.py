from apscheduler.schedulers.background import BackgroundScheduler
from django.conf import settings

from subscriptions.services import renew_all


def start():
    scheduler = BackgroundScheduler(timezone=settings.TIME_ZONE)
    scheduler.add_job(renew_all, "cron", hour=4, max_instances=1, misfire_grace_time=60)
    scheduler.start()
