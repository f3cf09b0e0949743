from fastapi import FastAPI
from apscheduler.schedulers.asyncio import AsyncIOScheduler

app = FastAPI()
scheduler = AsyncIOScheduler()


@scheduler.scheduled_job("interval", hours=12, max_instances=1, misfire_grace_time=60)
async def reindex():
    ...


@app.on_event("startup")
async def start():
    scheduler.start()
