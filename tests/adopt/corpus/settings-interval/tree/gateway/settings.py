import os

SYNC_EVERY_SECONDS = int(os.getenv("SYNC_EVERY_SECONDS", "21600"))
