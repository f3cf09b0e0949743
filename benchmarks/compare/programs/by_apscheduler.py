"""APScheduler 4: one data store and one event broker in PostgreSQL for all schedulers."""

from __future__ import annotations

import asyncio
import os

from apscheduler import AsyncScheduler, ConflictPolicy, current_job
from apscheduler.datastores.sqlalchemy import SQLAlchemyDataStore
from apscheduler.eventbrokers.psycopg import PsycopgEventBroker
from apscheduler.triggers.cron import CronTrigger
from sqlalchemy.ext.asyncio import create_async_engine
from story import INTERVAL, work

URL = os.environ["STORY_URL"]


def tick() -> None:
    """Do the work."""
    work(int(current_job.get().scheduled_fire_time.timestamp()))


async def main() -> None:
    """Schedule and work."""
    store = SQLAlchemyDataStore(create_async_engine(URL.replace("postgresql:", "postgresql+psycopg:")))
    broker = PsycopgEventBroker(URL)
    async with AsyncScheduler(store, broker, lease_duration=4, cleanup_interval=10) as scheduler:
        await scheduler.configure_task("tick", func=tick, max_running_jobs=10, job_executor="threadpool")
        trigger = CronTrigger(second=f"*/{INTERVAL}", timezone="UTC")
        await scheduler.add_schedule("tick", trigger, id="tick", conflict_policy=ConflictPolicy.do_nothing)
        await scheduler.run_until_stopped()


if __name__ == "__main__":
    import by_apscheduler  # the task is then that of a module with a name

    asyncio.run(by_apscheduler.main())
