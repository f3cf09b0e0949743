from contextlib import asynccontextmanager
from datetime import date

from apscheduler.schedulers.background import BackgroundScheduler
from fastapi import FastAPI

scheduler = BackgroundScheduler()


def send_digest():
    day = date.today()
    for customer in customers(day):
        mail(customer, day)


@asynccontextmanager
async def lifespan(app):
    scheduler.add_job(send_digest, "cron", hour=6)
    scheduler.start()
    yield
    scheduler.shutdown()


app = FastAPI(lifespan=lifespan)
