import os
import time

INTERVAL = int(os.environ.get("REFRESH_SECONDS", 6 * 3600))


def refresh_loop():
    while True:
        reload_rates()
        time.sleep(INTERVAL)


def reload_rates():
    ...
