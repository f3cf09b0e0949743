from flask import Flask


def create_app():
    app = Flask(__name__)
    from app import timers  # noqa
    return app
