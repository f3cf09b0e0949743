import time
import schedule


def fetch():
    ...


schedule.every(2).hours.do(fetch)

while True:
    schedule.run_pending()
    time.sleep(1)
