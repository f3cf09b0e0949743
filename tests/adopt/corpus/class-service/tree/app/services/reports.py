from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.triggers.cron import CronTrigger


class ReportService:
    def __init__(self):
        self._scheduler = AsyncIOScheduler(timezone="Europe/Paris")

    def start(self):
        self._scheduler.add_job(self._weekly, CronTrigger(day_of_week="mon", hour=7), id="weekly", max_instances=1, misfire_grace_time=900)
        self._scheduler.start()

    def stop(self):
        self._scheduler.shutdown()

    async def _weekly(self):
        ...
