from fastapi import FastAPI

from .jobs import scheduler

app = FastAPI(lifespan=scheduler.lifespan)
