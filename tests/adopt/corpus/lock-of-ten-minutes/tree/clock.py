import redis
from apscheduler.schedulers.blocking import BlockingScheduler

r = redis.Redis()
clock = BlockingScheduler(job_defaults={"max_instances": 1, "misfire_grace_time": 60})


@clock.scheduled_job("cron", hour=6, max_instances=1)
def digest():
    if not r.set("digest-lock", "1", nx=True, ex=600):
        return
    send_digest()


clock.start()
