from apscheduler.schedulers.background import BackgroundScheduler

scheduler = BackgroundScheduler()
scheduler.add_job(print, "interval", hours=1, max_instances=1, misfire_grace_time=60)
scheduler.start()
