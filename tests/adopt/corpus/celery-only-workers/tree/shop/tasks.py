from celery import shared_task


@shared_task(autoretry_for=(OSError,), max_retries=3)
def send(order_id):
    ...
