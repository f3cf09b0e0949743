"""The job: it prints its digest for the period that it is given. It never asks the clock what it is for."""

import os


def digest(period: str) -> str:
    """Return the digest of the period."""
    return f"digest for {period}"


def main() -> None:
    """Print the digest of the period that `cronce exec` names."""
    print(digest(os.environ["CRONCE_PERIOD"]))


if __name__ == "__main__":
    main()
