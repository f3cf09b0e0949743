import os
import time

from node.clock import make


def main():
    pod = os.environ.get("POD_NAME", "node-0")
    if pod.endswith("-0"):
        make().start()
    while True:
        time.sleep(1)


if __name__ == "__main__":
    main()
