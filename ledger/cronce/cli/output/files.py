"""Files that commands write: whole, or not at all."""

from __future__ import annotations

import os
from pathlib import Path

from cronce.vocabulary.errors import InputInvalidError


def write_whole(file: Path, data: bytes, *, replace: bool, private: bool = False) -> None:
    """Write the whole file or none of it. A link stays a link; what is no file is not replaced.

    Args:
        file: Its path.
        data: Its content.
        replace: False to leave a file that exists as it is.
        private: True to let only its owner read it. Then a link is replaced, and not followed.

    Raises:
        FileExistsError: It exists and is not to be replaced.
        OSError: It cannot be written.
        ValueError: Its name cannot be that of a file, or it is something else, such as a device.
    """
    target = file if private else file.resolve()
    if os.path.lexists(target) and not target.is_file():
        raise ValueError("it is no regular file")
    scratch = target.with_name(f".cronce-{os.urandom(8).hex()}")
    try:
        descriptor = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if private else 0o666)
        with os.fdopen(descriptor, "wb") as opened:
            opened.write(data)
        if replace:
            scratch.rename(target)
        else:
            os.link(scratch, target)  # fails if the file exists, also if somebody made it meanwhile
    finally:
        scratch.unlink(missing_ok=True)


def not_written(what: str, file: Path, error: OSError | ValueError) -> InputInvalidError:
    """The error for a file that `write_whole` could not write; `what` is its option or argument."""
    return InputInvalidError(what, str(file), f"a file in an existing, writable folder ({why_not_written(error)})")


def why_not_written(error: OSError | ValueError) -> str:
    """The cause of an error of `write_whole`, without the name of the file."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
