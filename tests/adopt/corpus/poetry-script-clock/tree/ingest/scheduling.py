import time

import schedule

from ingest.feeds import pull


def run():
    schedule.every().hour.at(":05").do(pull)
    schedule.every().day.at("03:30").do(pull, full=True)
    while True:
        schedule.run_pending()
        time.sleep(5)
