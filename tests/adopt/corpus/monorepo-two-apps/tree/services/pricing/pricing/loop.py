import threading

REPRICE_EVERY = 12 * 60 * 60


class Loop:
    def __init__(self):
        self._stopped = threading.Event()

    def stop(self):
        self._stopped.set()

    def run(self):
        while not self._stopped.is_set():
            self.reprice()
            self._stopped.wait(REPRICE_EVERY)

    def reprice(self):
        ...
