import datetime

from discord.ext import commands, tasks


class Digest(commands.Cog):
    def __init__(self, bot):
        self.bot = bot
        self.digest.start()

    @tasks.loop(time=datetime.time(hour=9))
    async def digest(self):
        await self.bot.get_channel(1).send("Good morning")


async def setup(bot):
    await bot.add_cog(Digest(bot))
