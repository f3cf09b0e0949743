import schedule

schedule.every().day.at("06:00").do(print)
