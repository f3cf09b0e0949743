from erp.celery import app


@app.task(autoretry_for=(Exception,), max_retries=5)
def close_books():
    ...
