import typer

jobs_app = typer.Typer()


@jobs_app.command("run")
def run():
    from ops.scheduling import start_forever

    start_forever()


@jobs_app.command("list")
def list_jobs():
    print("digest")
