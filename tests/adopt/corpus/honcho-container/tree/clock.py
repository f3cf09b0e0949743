from apscheduler.schedulers.blocking import BlockingScheduler

sched = BlockingScheduler()


@sched.scheduled_job("cron", hour=0, max_instances=1, misfire_grace_time=60)
def midnight():
    ...


sched.start()
