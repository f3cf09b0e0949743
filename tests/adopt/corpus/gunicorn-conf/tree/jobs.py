from apscheduler.schedulers.background import BackgroundScheduler


def start():
    scheduler = BackgroundScheduler()
    scheduler.add_job(print, "interval", days=1, max_instances=1, misfire_grace_time=60)
    scheduler.start()
