import time
import random

from queue_client import receive


def run():
    idle = 0
    while True:
        message = receive()
        if message is None:
            idle += 1
            time.sleep(min(5 * idle, 300) + random.random())
            continue
        idle = 0
        handle(message)


def handle(message):
    ...


if __name__ == "__main__":
    run()
