from shop.celery import app


@app.task
def digest():
    ...
