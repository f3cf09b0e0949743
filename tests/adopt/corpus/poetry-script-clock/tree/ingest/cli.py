def api():
    import uvicorn
    uvicorn.run("ingest.api:app", host="0.0.0.0")


def scheduler():
    from ingest.scheduling import run
    run()
