from apscheduler.schedulers.background import BackgroundScheduler
from django_apscheduler.jobstores import DjangoJobStore, register_events


def start():
    scheduler = BackgroundScheduler(timezone="UTC")
    scheduler.add_jobstore(DjangoJobStore(), "default")
    scheduler.add_job(fetch, "cron", hour=6, id="fetch", replace_existing=True, max_instances=1, misfire_grace_time=300)
    register_events(scheduler)
    scheduler.start()


def fetch():
    pass
