from arq import cron
from arq.connections import RedisSettings


async def rollup(ctx):
    ...


class WorkerSettings:
    cron_jobs = [cron(rollup, hour=3)]
    redis_settings = RedisSettings()
