"""Names that follow from the name of a ledger's table; the Terraform module `ledger` derives the same."""

from __future__ import annotations

import hashlib


def queue_name(table_name: str, role: str) -> str:
    """Return the name of a queue of the ledger: at most 80 characters, without dots."""
    return f"{_stem(table_name, 66, cut=50)}-{role}"


def function_name(table_name: str, role: str) -> str:
    """Return the name of a function of the ledger: at most 64 characters, without dots."""
    return f"{_stem(table_name, 50, cut=37)}-{role}"


def _stem(table_name: str, most: int, *, cut: int) -> str:
    name = table_name.replace(".", "-")
    if name == table_name and len(name) <= most:
        return name
    return f"{name[:cut]}-{hashlib.sha256(table_name.encode()).hexdigest()[:12]}"
