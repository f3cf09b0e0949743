import os
import time

import schedule

if os.environ.get("CRON_ENABLED", "0") == "1":
    schedule.every().sunday.at("10:00").do(print)
    while True:
        schedule.run_pending()
        time.sleep(10)
