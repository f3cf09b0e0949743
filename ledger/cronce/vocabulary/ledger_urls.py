"""The URL of a ledger: its forms, whether it is in DynamoDB, and how people see it, without its password."""

FORMS = "dynamodb://TABLE?region=REGION, postgresql://USER@HOST/DATABASE, rediss://USER@HOST or sqlite:///PATH"
"""For the help of options."""


def is_in_dynamodb(url: str | None) -> bool:
    """True if the ledger is a DynamoDB table, from whose name the schedule group follows."""
    return (url or "").startswith("dynamodb:")


def without_password(url: str) -> str:
    """The URL with `***` instead of a password before the last `@`. A path of SQLite may contain any character."""
    scheme, separator, rest = url.partition("://")
    credentials, at, place = rest.rpartition("@")
    user, colon, _ = credentials.partition(":")
    return f"{scheme}://{user}:***@{place}" if separator and at and colon and scheme != "sqlite" else url
