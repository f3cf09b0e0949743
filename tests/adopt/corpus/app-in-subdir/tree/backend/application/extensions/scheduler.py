import atexit
from flask_apscheduler import APScheduler

_scheduler = APScheduler()


def init_app(app):
    _scheduler.init_app(app)
    _scheduler.start()
    _scheduler.add_job("stats", lambda: None, trigger="cron", hour=3, max_instances=1, misfire_grace_time=60)
    atexit.register(lambda: _scheduler.shutdown())
