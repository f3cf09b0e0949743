from flask_apscheduler import APScheduler

scheduler = APScheduler()


@scheduler.task("cron", id="sync", hour=1, max_instances=1, misfire_grace_time=60)
def sync():
    ...
