from contextlib import asynccontextmanager

from fastapi import FastAPI

from server.clock import scheduler


@asynccontextmanager
async def lifespan(app):
    scheduler.start()
    yield
    scheduler.shutdown()


app = FastAPI(lifespan=lifespan)
