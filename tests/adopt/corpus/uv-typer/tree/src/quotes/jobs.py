import asyncio

import aiocron


async def fetch():
    ...


async def main():
    aiocron.crontab("15 18 * * 1-5", func=fetch)
    await asyncio.Event().wait()
