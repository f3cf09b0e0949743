from flask import Flask

from portal.clock import scheduler


def create_app():
    app = Flask(__name__)
    scheduler.init_app(app)
    # scheduler.start()  -- moved to EventBridge, see docs/
    return app
