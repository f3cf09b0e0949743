import threading


def start_daily():
    timer = threading.Timer(86400, tick)
    timer.daemon = True
    timer.start()


def tick():
    reindex()
    start_daily()


def reindex():
    ...
