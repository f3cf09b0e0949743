import time

from q.tasks import resize


def plan():
    return []


def loop():
    while True:
        for path in plan():
            resize(path)
        time.sleep(3600)


if __name__ == "__main__":
    loop()
