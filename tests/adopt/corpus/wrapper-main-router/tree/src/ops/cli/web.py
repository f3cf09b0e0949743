import typer

web_app = typer.Typer()


@web_app.command("serve")
def serve():
    import uvicorn

    uvicorn.run("ops.http:app")
