import asyncio
import aiocron


@aiocron.crontab("0 0 * * *")
async def midnight():
    ...


def forever():
    asyncio.get_event_loop().run_forever()
