import asyncio

MINUTE = 60
DAY = 24 * 60 * MINUTE


async def nightly():
    while True:
        await rollup()
        await asyncio.sleep(DAY)


async def fetch(url):
    for attempt in range(5):
        try:
            return await get(url)
        except OSError:
            await asyncio.sleep(2**attempt)


async def health():
    while True:
        await ping()
        await asyncio.sleep(5 * MINUTE)
