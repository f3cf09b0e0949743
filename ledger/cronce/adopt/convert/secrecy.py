"""Which values may be secrets. Pure; a guess by name and form, which errs towards secret."""

from __future__ import annotations

import re

_NAMES = re.compile(
    r"(?:^|_|-)(?:PASS|PASSWD|PASSWORD|PASSPHRASE|PWD|SECRET|SECRETS|TOKEN|TOKENS|CREDENTIALS?|PRIVATE|DSN|AUTH|APIKEY|KEY)"
    r"(?:$|_|-)|(?:PASSWORD|SECRET|TOKEN|APIKEY|CREDENTIAL)",
    re.IGNORECASE,
)
_VALUES = re.compile(
    r"[a-z][a-z0-9+.-]*://[^/\s:@]*:[^/\s@]+@"  # a URL with a password
    r"|-----BEGIN [A-Z ]*PRIVATE KEY"
    r"|\bAKIA[0-9A-Z]{16}\b"
    r"|\bgh[pousr]_[A-Za-z0-9]{20,}"
    r"|\bxox[abprs]-[A-Za-z0-9-]{10,}"
    r"|\beyJ[A-Za-z0-9_-]{10,}\.eyJ"
    r"|hooks\.slack\.com/services/",
    re.IGNORECASE,
)
_IN_COMMAND = re.compile(
    r"(?i:--?(?:password|passwd|token|secret|api-?key)[= ]\S|\b\w*(?:PASSWORD|TOKEN|SECRET|API_?KEY)=[^\s$]"
    r"|\bbearer\s+[A-Za-z0-9._-]{8})|(?<=\s)-p[^\s$-]\S{5,}"
)


def may_be_secret(name: str, value: str) -> bool:
    """True if the variable looks like a secret; a value that names another place for it is none."""
    if value in ("", "true", "false", "0", "1") or value.startswith(("arn:", "/run/secrets/")):
        return False
    return bool(_NAMES.search(name) or _VALUES.search(value))


def may_have_secret(command: str) -> bool:
    """True if the command line seems to have a secret in it."""
    return bool(_IN_COMMAND.search(command) or _VALUES.search(command))
