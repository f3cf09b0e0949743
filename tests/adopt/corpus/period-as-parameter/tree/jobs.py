from datetime import datetime

import schedule


def digest(day=None):
    day = day or datetime.now().date()
    send(day)


def timed():
    start = datetime.now()
    work()
    log(datetime.now() - start)


def rollup():
    name = datetime.utcnow().strftime("%Y-%m-%d")
    write(f"rollup-{name}.csv")


schedule.every().day.at("06:00").do(digest)
schedule.every().hour.do(timed)
schedule.every().day.at("01:00").do(rollup)
