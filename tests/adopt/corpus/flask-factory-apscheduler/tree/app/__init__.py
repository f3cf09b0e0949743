from flask import Flask

from app.extensions import db, scheduler


def create_app(config_name="production"):
    app = Flask(__name__)
    app.config.from_object(f"app.config.{config_name.capitalize()}Config")
    db.init_app(app)
    scheduler.init_app(app)
    from app import jobs  # noqa: F401
    scheduler.start()
    from app.api import bp
    app.register_blueprint(bp)
    return app
