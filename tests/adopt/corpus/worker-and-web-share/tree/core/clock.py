from apscheduler.schedulers.background import BackgroundScheduler

scheduler = BackgroundScheduler()
scheduler.add_job(print, "cron", hour=2, max_instances=1, misfire_grace_time=60)
