from celery import Celery
app = Celery("erp")
app.config_from_object("erp.celeryconfig")
