from apscheduler.schedulers.asyncio import AsyncIOScheduler

scheduler = AsyncIOScheduler()
scheduler.add_job(print, "interval", hours=1, max_instances=1, misfire_grace_time=60)
