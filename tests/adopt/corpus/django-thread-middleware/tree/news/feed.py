import threading
import time


def _refresh():
    while True:
        fetch_all()
        time.sleep(2 * 60 * 60)


def fetch_all():
    ...


def start_refreshing():
    t = threading.Thread(target=_refresh)
    t.setDaemon(True)
    t.start()
