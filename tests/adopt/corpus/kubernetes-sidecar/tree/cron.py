import time
import schedule
from mail import newsletter

schedule.every().friday.at("16:00").do(newsletter)

if __name__ == "__main__":
    while 1:
        schedule.run_pending()
        time.sleep(30)
