from apscheduler.schedulers.asyncio import AsyncIOScheduler

from server.jobs import rotate_keys

scheduler = AsyncIOScheduler()
scheduler.add_job(rotate_keys, "cron", day=1, max_instances=1, misfire_grace_time=3600)
