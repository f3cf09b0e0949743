"""Starts what is due."""
from apscheduler.schedulers.asyncio import (
    AsyncIOScheduler as Clock,
)
from apscheduler.triggers.cron import CronTrigger

from app.jobs import digest, invoices

clock = Clock(timezone="Europe/Berlin", job_defaults={"misfire_grace_time": 600})


def start() -> None:
    clock.add_job(digest, CronTrigger.from_crontab("0 6 * * *"), max_instances=1)
    clock.add_job(
        invoices,
        trigger="cron",
        day=1,
        max_instances=1,
    )
    clock.start()
