import asyncio
import logging

from billing.settings import settings

log = logging.getLogger(__name__)


async def purge_forever():
    while True:
        try:
            await purge_invoices(settings.keep_days)
        except Exception:
            log.exception("purge failed")
        await asyncio.sleep(24 * 60 * 60)


async def purge_invoices(days):
    ...
