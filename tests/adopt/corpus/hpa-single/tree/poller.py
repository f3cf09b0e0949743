import time
from schedule import every, repeat, run_pending


@repeat(every(3).hours)
def poll():
    ...


while True:
    run_pending()
    time.sleep(1)
