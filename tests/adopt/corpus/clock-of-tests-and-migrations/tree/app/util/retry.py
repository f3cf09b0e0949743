import time


def retry(call, attempts=3):
    for n in range(attempts):
        try:
            return call()
        except OSError:
            time.sleep(3600 if n else 60)
