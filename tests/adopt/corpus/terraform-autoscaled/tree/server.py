import threading

import schedule

schedule.every().day.at("06:00").do(print)
threading.Thread(target=schedule.run_pending).start()
