import threading
import time


def run_periodically(seconds, func):
    def loop():
        while True:
            func()
            time.sleep(seconds)
    thread = threading.Thread(target=loop, daemon=True)
    thread.start()
    return thread
