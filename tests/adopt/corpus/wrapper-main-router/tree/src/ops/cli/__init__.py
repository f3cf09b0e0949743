import typer

from ops.cli.jobs import jobs_app
from ops.cli.web import web_app

app = typer.Typer()
app.add_typer(jobs_app, name="jobs")
app.add_typer(web_app, name="web")
