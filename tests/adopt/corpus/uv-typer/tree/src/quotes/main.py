import asyncio

import typer

app = typer.Typer()


@app.command()
def serve(port: int = 8000):
    import uvicorn
    uvicorn.run("quotes.web:api", host="0.0.0.0", port=port)


@app.command()
def work():
    from quotes.jobs import main
    asyncio.run(main())
