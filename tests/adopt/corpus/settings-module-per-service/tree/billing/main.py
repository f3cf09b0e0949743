from contextlib import asynccontextmanager

from fastapi import FastAPI

from billing.clock import scheduler
from billing.settings import settings


@asynccontextmanager
async def lifespan(app: FastAPI):
    if settings.run_clock:
        scheduler.start()
    yield


app = FastAPI(lifespan=lifespan)
