import asyncio


class Clock:
    async def run(self):
        while True:
            await self.tick()
            await asyncio.sleep(12 * 3600)

    async def tick(self):
        ...


if __name__ == "__main__":
    asyncio.run(Clock().run())
