import time


def main():
    for day in range(30):
        load(day)
        time.sleep(2)


def load(day):
    ...


if __name__ == "__main__":
    main()
