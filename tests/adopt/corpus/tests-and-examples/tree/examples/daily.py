import schedule

schedule.every().day.do(print)
