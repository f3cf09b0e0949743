from apscheduler.schedulers.blocking import BlockingScheduler


def start_forever():
    scheduler = BlockingScheduler(timezone="UTC")
    scheduler.add_job(digest, "cron", hour=5, max_instances=1, misfire_grace_time=60)
    scheduler.start()


def digest():
    ...
