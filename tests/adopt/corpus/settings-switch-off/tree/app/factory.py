from flask import Flask

from app import settings
from app.clock import scheduler


def create_app():
    app = Flask(__name__)
    if settings.ENABLE_SCHEDULER:
        scheduler.start()
    return app
