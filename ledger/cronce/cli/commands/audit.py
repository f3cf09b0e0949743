"""`cronce audit`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cronce.cli.app import json_option
from cronce.cli.output.files import not_written, write_whole
from cronce.cli.parameters import TEXT
from cronce.operate.wording import visible
from cronce.vocabulary import exit_codes
from cronce.vocabulary.errors import InputInvalidError, InputMissingError

if TYPE_CHECKING:
    from cronce.adopt.audit.run import Audit

_PACKAGES = ("ahocorasick_rs", "ast_grep_py", "yaml", "pathspec")


@click.command(
    "audit",
    epilog="""\b
Examples:
  cronce audit
  cronce audit services/shop --json | jq -r '.findings[].message'
  cronce audit --sarif audit.sarif

It reads code, Dockerfiles and deployment files, and runs nothing. Tests,
examples, documents, vendored code and what .gitignore names are left out; to
audit such a folder, give it as PATH. An error is a clock that acts once per
copy; a warning is what may go wrong; infos never change the exit code.

\b
A comment on the line of a finding, or above it, hides it:
  # cronce: ignore[clock-in-copies] one copy only, see deploy/clock.yml

\b
The JSON document is {"findings", "clocks", "services", "files", "skipped",
"ignored"}. A finding is {"rule", "severity", "path", "line", "message",
"fix", "related"}; related is a list of {"path", "line", "what"}.

\b
Exit codes: 0 nothing but infos; 1 errors or warnings; 64 bad usage, or a
package is missing.""",
)
@click.argument("path", required=False, default=".", callback=TEXT)
@click.option(
    "--sarif", metavar="FILE", callback=TEXT, help="Write SARIF 2.1.0 there too; - is the standard output, alone."
)
@json_option
def command(*, path: str, sarif: str | None, as_document: bool) -> int:
    """Find clocks that act once per copy in a project."""
    if sarif == "-" and as_document:
        raise click.UsageError("--json and --sarif - both want the standard output: give one of them.")
    found = _audited(path)
    if sarif is not None:
        from cronce.adopt.audit.sarif import sarif_document  # noqa: PLC0415  # only if asked for

        document = json.dumps(sarif_document(found.findings), indent=2)
        if sarif == "-":
            click.echo(document)
        else:
            try:
                write_whole(Path(sarif), f"{document}\n".encode(), replace=True)
            except (OSError, ValueError) as error:
                raise not_written("--sarif", Path(sarif), error) from None
    if as_document:
        from cronce.cli.output.audit import audit_document  # noqa: PLC0415
        from cronce.cli.output.documents import as_json  # noqa: PLC0415

        click.echo(as_json(audit_document(found)))
    elif sarif != "-":
        from cronce.cli.output.audit import print_audit  # noqa: PLC0415  # rich

        print_audit(found)
    return exit_codes.PROBLEM if found.failed else 0


def _audited(path: str) -> Audit:
    """The audit of that folder or file.

    Raises:
        InputInvalidError: It cannot be read.
        InputMissingError: A package is missing.
    """
    try:
        from cronce.adopt.audit.run import audit  # noqa: PLC0415  # needs the extra
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _PACKAGES:
            raise
        raise InputMissingError(f"the package {error.name}", "pip install 'cronce[audit]'") from None
    allowed = "a folder or a file that can be read"
    try:
        root = Path(path)
        if not (root.is_dir() or root.is_file()):
            raise InputInvalidError("PATH", path, allowed)
        with _progress() as done:
            return audit(root, done=done)
    except (OSError, ValueError) as error:
        cause = error.strerror if isinstance(error, OSError) else str(error)
        raise InputInvalidError("PATH", path, f"{allowed} ({cause})") from None


@contextmanager
def _progress() -> Iterator[Callable[[str, int], object]]:
    """A count of the files on the terminal of a person who waits."""
    if not sys.stderr.isatty():
        yield lambda _what, _count: None
        return
    from rich.progress import Progress, SpinnerColumn, TextColumn  # noqa: PLC0415

    from cronce.cli.output.tables import PlainConsole  # noqa: PLC0415

    columns = (SpinnerColumn(), TextColumn("{task.completed:,.0f} {task.description}"))
    with Progress(*columns, console=PlainConsole(sys.stderr), transient=True) as progress:
        task = progress.add_task("files listed", total=None)
        yield lambda what, count: progress.update(task, description=visible(what), completed=count)
