import asyncio
from datetime import datetime, timedelta


async def until(hour):
    now = datetime.now()
    target = now.replace(hour=hour, minute=0, second=0)
    if target <= now:
        target += timedelta(days=1)
    await asyncio.sleep((target - now).total_seconds())


async def main():
    while True:
        await until(6)
        await digest()


async def digest():
    ...


asyncio.run(main())
