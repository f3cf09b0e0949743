from flask import Flask


def create_app():
    app = Flask(__name__)
    register_extensions(app)
    return app


def register_extensions(app):
    from .extensions.scheduler import init_app
    init_app(app)
