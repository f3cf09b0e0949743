"""procrastinate: a periodic task, and one that retries the jobs of dead workers, as its documents show."""

from __future__ import annotations

import asyncio
import os
from typing import Any

from procrastinate import App, PsycopgConnector
from story import INTERVAL, work

app = App(connector=PsycopgConnector(conninfo=os.environ["STORY_URL"]))


@app.periodic(cron=f"* * * * * */{INTERVAL}")
@app.task(queue="q", name="tick")
def tick(timestamp: int) -> None:
    """Do the work."""
    work(timestamp)


@app.periodic(cron="* * * * * */5")
@app.task(queue="q", name="retry_stalled", queueing_lock="retry_stalled", pass_context=True)
async def retry_stalled(context: Any, timestamp: int) -> None:  # noqa: ARG001  # the library's signature
    """Retry what a dead worker left."""
    for job in await app.job_manager.get_stalled_jobs(seconds_since_heartbeat=4):
        await app.job_manager.retry_job(job)


async def main() -> None:
    """Schedule and work."""
    async with app.open_async():
        await app.run_worker_async(concurrency=8, update_heartbeat_interval=1, stalled_worker_timeout=4)


if __name__ == "__main__":
    import by_procrastinate  # the tasks are then those of a module with a name

    asyncio.run(by_procrastinate.main())
