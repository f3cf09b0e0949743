import os

import discord
from discord.ext import commands

bot = commands.Bot(command_prefix="!", intents=discord.Intents.default())


@bot.event
async def setup_hook():
    await bot.load_extension("cogs.digest")


bot.run(os.environ["TOKEN"])
