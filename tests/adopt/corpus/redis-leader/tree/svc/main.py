import os
import time

from apscheduler.schedulers.background import BackgroundScheduler

from svc.leader import Leader
from svc.work import reconcile

leader = Leader(os.environ["REDIS_URL"])
scheduler = BackgroundScheduler()
scheduler.add_job(reconcile, "interval", hours=4, max_instances=1, misfire_grace_time=600)

while not leader.acquire():
    time.sleep(5)
leader.keep_alive()
scheduler.start()
while True:
    time.sleep(60)
