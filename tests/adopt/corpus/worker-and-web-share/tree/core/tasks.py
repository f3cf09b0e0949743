from celery import Celery
app = Celery("core")
