"""Mails in a Maildir (cr.yp.to/proto/maildir.html): one file per mail, written in `tmp`, then linked into `new`."""

from __future__ import annotations

import os
from collections import Counter
from contextlib import suppress
from pathlib import Path


def make_maildir(path: Path) -> Path:
    """Create an empty Maildir."""
    for folder in ("tmp", "new", "cur"):
        (path / folder).mkdir(parents=True)
    return path


def customer_name(number: int) -> str:
    """The mail address of that customer."""
    return f"customer-{number:05}@example.com"


def deliver(maildir: Path, key: str, *, to: str, text: str) -> bool:
    """Deliver the mail atomically; False if a mail with that key exists."""
    draft = maildir / "tmp" / f"{key}.{os.getpid()}"
    draft.write_text(f"To: {to}\nSubject: Your daily digest\nMessage-ID: <{key}>\n\n{text}\n", encoding="utf-8")
    try:
        os.link(draft, maildir / "new" / key)
    except FileExistsError:
        return False
    finally:
        draft.unlink()
    return True


def number_of_mails(maildir: Path) -> int:
    """The number of mails now; cheap enough to call while they arrive."""
    return sum(1 for _ in os.scandir(maildir / "new"))


def mails_by_customer(maildir: Path) -> Counter[str]:
    """The number of mails per customer, from the headers of the mails."""
    mails: Counter[str] = Counter()
    for path in (maildir / "new").iterdir():
        with suppress(StopIteration), path.open(encoding="utf-8", errors="replace") as lines:
            mails[next(line for line in lines if line.startswith("To: ")).removeprefix("To: ").strip()] += 1
    return mails
