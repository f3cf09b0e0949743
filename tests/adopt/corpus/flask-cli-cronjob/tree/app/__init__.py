import click
from flask import Flask


def create_app():
    app = Flask(__name__)

    @app.cli.command("digest")
    @click.option("--day")
    def digest(day):
        from app.digest import send
        send(day)

    return app
