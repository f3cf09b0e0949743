import atexit
import fcntl

from apscheduler.schedulers.background import BackgroundScheduler
from flask import Flask

app = Flask(__name__)


def init_scheduler():
    f = open("/tmp/scheduler.lock", "wb")
    try:
        fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return
    scheduler = BackgroundScheduler()
    scheduler.add_job(refresh, "cron", hour="*/6", max_instances=1, misfire_grace_time=60)
    scheduler.start()
    atexit.register(scheduler.shutdown)


def refresh():
    ...


init_scheduler()
