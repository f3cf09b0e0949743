from apscheduler.schedulers.background import BackgroundScheduler

from shop.digest import send_digest

scheduler = BackgroundScheduler(timezone="Europe/Berlin")
scheduler.add_job(send_digest, "cron", hour=6, max_instances=1, misfire_grace_time=600)


def start():
    scheduler.start()
