import asyncio
import datetime as dt

INTERVAL = dt.timedelta(days=1)


async def housekeeping(app):
    while True:
        await sweep(app)
        await asyncio.sleep(INTERVAL.total_seconds())


async def sweep(app):
    ...
