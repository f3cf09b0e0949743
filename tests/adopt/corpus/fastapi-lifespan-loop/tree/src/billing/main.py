from contextlib import asynccontextmanager
import asyncio

from fastapi import FastAPI

from billing.routes import router
from billing.maintenance import purge_forever


@asynccontextmanager
async def lifespan(app: FastAPI):
    task = asyncio.create_task(purge_forever())
    yield
    task.cancel()


app = FastAPI(lifespan=lifespan)
app.include_router(router)
