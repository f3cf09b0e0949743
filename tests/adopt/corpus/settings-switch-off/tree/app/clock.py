from apscheduler.schedulers.background import BackgroundScheduler

scheduler = BackgroundScheduler()


@scheduler.scheduled_job("cron", hour=3, max_instances=1, misfire_grace_time=60)
def compact():
    ...
