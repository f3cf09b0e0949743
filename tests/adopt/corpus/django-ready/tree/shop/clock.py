import schedule


def start():
    schedule.every().day.at("06:00").do(print)
