from procrastinate import App

app = App(connector=None)


@app.periodic(cron="0 6 * * *")
@app.task(queueing_lock="digest")
async def digest(timestamp: int):
    ...
