app = object()
celery = None
