from apscheduler.schedulers.background import BackgroundScheduler

_scheduler = BackgroundScheduler(job_defaults={"max_instances": 1, "misfire_grace_time": 30})


def every(**interval):
    def register(function):
        _scheduler.add_job(function, "interval", max_instances=1, **interval)
        return function
    return register


def start():
    _scheduler.start()
