import schedule

schedule.every().day.do(send)

def (:
