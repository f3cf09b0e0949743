from apscheduler.schedulers.blocking import BlockingScheduler

s = BlockingScheduler()
s.add_job(print, "cron", minute=0, max_instances=1, misfire_grace_time=60)
s.start()
