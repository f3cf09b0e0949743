import time

ONE_DAY = 24 * 3600


def run_daily(work, pause=ONE_DAY):
    while True:
        work()
        time.sleep(pause)
