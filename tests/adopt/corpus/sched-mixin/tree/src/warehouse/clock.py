from threading import Thread
from time import sleep

from warehouse.stock import Stock


class Clock(Thread):
    daemon = True

    def __init__(self, stock: Stock):
        super().__init__()
        self.stock = stock

    def begin(self):
        self.start()

    def run(self):
        while True:
            self.stock.count()
            sleep(60 * 60 * 4)
