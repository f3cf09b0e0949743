from threading import Thread

from flask import Flask

from gateway.sync import sync_forever


def create_app():
    app = Flask(__name__)
    app.config.from_object("gateway.settings")
    Thread(target=sync_forever, name="sync", daemon=True).start()
    return app
