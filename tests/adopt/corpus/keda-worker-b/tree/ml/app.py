from celery import Celery
app = Celery("ml")
