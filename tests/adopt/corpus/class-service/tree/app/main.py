import logging

from fastapi import FastAPI

from app.core.config import get_settings
from app.services.reports import ReportService
from app.api import routes

logging.basicConfig(level=logging.INFO)
settings = get_settings()
app = FastAPI(title=settings.title)
app.include_router(routes.router)
reports = ReportService()


@app.on_event("startup")
async def startup() -> None:
    reports.start()


@app.on_event("shutdown")
async def shutdown() -> None:
    reports.stop()
