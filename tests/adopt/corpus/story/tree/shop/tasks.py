from celery import Celery

app = Celery("shop", broker="redis://broker")
app.conf.beat_schedule = {
    "invoices": {"task": "shop.tasks.invoices", "schedule": 3600.0, "options": {"expires": 600}},
}


@app.task(autoretry_for=(OSError,), max_retries=3)
def invoices():
    print("invoices")
