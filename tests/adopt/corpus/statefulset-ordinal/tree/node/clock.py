from apscheduler.schedulers.background import BackgroundScheduler


def make():
    s = BackgroundScheduler()
    s.add_job(print, "cron", hour=2, max_instances=1, misfire_grace_time=60)
    return s
