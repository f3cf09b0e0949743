from apscheduler.schedulers.asyncio import AsyncIOScheduler

scheduler = AsyncIOScheduler()


@scheduler.scheduled_job("cron", day=1, max_instances=1, misfire_grace_time=60)
async def invoices():
    ...
