from flask import Flask

from .clock import start_clock


def create_app(testing=False):
    app = Flask(__name__)
    app.config["TESTING"] = testing
    if not app.config["TESTING"]:
        start_clock(app)
    return app
