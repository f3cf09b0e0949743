"""Every module in the archive of the Lambda functions can be imported there."""

from __future__ import annotations

import importlib.util
import io
import subprocess
import sys
import zipfile
from pathlib import Path

from cronce.portable.lambda_archive import lambda_archive

RUNTIME = ("boto3", "botocore", "s3transfer", "jmespath", "dateutil", "six", "urllib3")
"""boto3 and what it needs: Lambda's Python runtime has nothing else besides the standard library."""

IMPORT_EACH = """
import importlib, sys
sys.path[:0] = sys.argv[1:3]
for module in sys.argv[3:]:
    try:
        importlib.import_module(module)
    except ImportError as error:
        print(f"{module}: {error}")
"""


def test_every_module_that_the_archive_ships_can_be_imported_there(tmp_path: Path) -> None:
    """A module that needs a room or a package that is not in Lambda would fail when its event arrives."""
    code = tmp_path / "code"
    with zipfile.ZipFile(io.BytesIO(lambda_archive())) as archive:
        archive.extractall(code)
    runtime = tmp_path / "runtime"
    runtime.mkdir()
    for name in RUNTIME:
        (runtime / _place(name).name).symlink_to(_place(name))
    modules = sorted(
        ".".join(file.relative_to(code).with_suffix("").parts).removesuffix(".__init__")
        for file in code.rglob("*.py")
        if not file.is_relative_to(code / "tzdata")
    )
    assert {"cronce_lambdas.recorder", "cronce_lambdas.watchdog", "cronce.ecs"} <= {*modules}
    done = subprocess.run(
        [sys.executable, "-IS", "-c", IMPORT_EACH, str(code), str(runtime), *modules],
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout == ""


def _place(package: str) -> Path:
    spec = importlib.util.find_spec(package)
    assert spec is not None
    assert spec.origin is not None
    file = Path(spec.origin)
    return file.parent if file.name == "__init__.py" else file
