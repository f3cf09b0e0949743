import threading
import time
from datetime import datetime, timedelta


def until_six():
    while True:
        now = datetime.now()
        at = now.replace(hour=6, minute=0, second=0)
        if at <= now:
            at += timedelta(days=1)
        time.sleep((at - now).total_seconds())
        send_digest()


def poll():
    while True:
        handle(queue.get())
        time.sleep(5)


threading.Thread(target=until_six, daemon=True).start()
threading.Thread(target=poll, daemon=True).start()
