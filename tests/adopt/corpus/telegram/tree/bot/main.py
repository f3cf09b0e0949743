import datetime
import os

from telegram.ext import ApplicationBuilder


async def morning(context):
    await context.bot.send_message(1, "hi")


def main():
    application = ApplicationBuilder().token(os.environ["TOKEN"]).build()
    application.job_queue.run_daily(morning, time=datetime.time(hour=9))
    application.run_polling()


if __name__ == "__main__":
    main()
