from apscheduler.schedulers.background import BackgroundScheduler
from crm.config import SCHEDULER_ENABLED


def maybe_start():
    if not SCHEDULER_ENABLED:
        return
    s = BackgroundScheduler()
    s.add_job(print, "cron", hour=1, max_instances=1, misfire_grace_time=60)
    s.start()
