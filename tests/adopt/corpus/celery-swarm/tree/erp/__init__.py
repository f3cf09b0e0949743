from erp.celery import app as celery_app
