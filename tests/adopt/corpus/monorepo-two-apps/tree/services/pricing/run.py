import signal
import sys

from pricing.loop import Loop


def main() -> int:
    loop = Loop()
    signal.signal(signal.SIGTERM, lambda *_: loop.stop())
    loop.run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
