import logging
import time

from gateway import settings

log = logging.getLogger(__name__)


def sync_forever():
    while True:
        try:
            sync()
        except Exception:
            log.exception("sync")
        time.sleep(settings.SYNC_EVERY_SECONDS)


def sync():
    ...
