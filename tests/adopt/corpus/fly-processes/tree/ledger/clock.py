import time
import schedule


def settle():
    ...


schedule.every().day.at("00:05").do(settle)
while True:
    schedule.run_pending()
    time.sleep(1)
