from warehouse.clock import Clock
from warehouse.stock import Stock


class Container:
    def __init__(self):
        self.stock = Stock()
        self.clock = Clock(self.stock)
