import time

import schedule

from jobs import digest, rollup

schedule.every().day.at("06:00").do(digest)
schedule.every(10).minutes.do(rollup)

while True:
    schedule.run_pending()
    time.sleep(1)
