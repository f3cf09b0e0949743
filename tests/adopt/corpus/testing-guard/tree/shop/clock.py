import atexit

from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.interval import IntervalTrigger


def start_clock(app):
    clock = BackgroundScheduler(daemon=True)
    clock.add_job(lambda: prune(app), IntervalTrigger(hours=8), id="prune", max_instances=1, misfire_grace_time=60)
    clock.start()
    atexit.register(lambda: clock.shutdown(wait=False))


def prune(app):
    ...
