from celery import Celery

celery = Celery("api", broker="redis://redis/0")


@celery.on_after_configure.connect
def setup_periodic_tasks(sender, **kwargs):
    sender.add_periodic_task(3600.0, refresh.s(), name="refresh")


@celery.task(autoretry_for=(OSError,))
def refresh():
    ...
