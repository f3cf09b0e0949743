from contextlib import asynccontextmanager

from apscheduler import AsyncScheduler
from apscheduler.datastores.sqlalchemy import SQLAlchemyDataStore
from apscheduler.triggers.cron import CronTrigger
from fastapi import FastAPI
from sqlalchemy.ext.asyncio import create_async_engine

from api.tasks import rollup

engine = create_async_engine("postgresql+asyncpg://db/api")


@asynccontextmanager
async def lifespan(app):
    data_store = SQLAlchemyDataStore(engine)
    async with AsyncScheduler(data_store) as scheduler:
        await scheduler.add_schedule(rollup, CronTrigger(hour=1), id="rollup", coalesce="latest", misfire_grace_time=60)
        await scheduler.start_in_background()
        yield


app = FastAPI(lifespan=lifespan)
