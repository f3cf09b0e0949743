import schedule

NAME = "café"
schedule.every().day.do(send)
