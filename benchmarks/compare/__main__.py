"""The comparison from the command line."""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import shutil
import subprocess
import sys
import venv
from datetime import UTC, datetime
from pathlib import Path

_ROOT = Path(__file__).parents[2]
_FOLDER = _ROOT / ".cache" / "compare"
_VENV = _FOLDER / "venv"
_ENTERED = "CRONCE_COMPARE_ENTERED"


def main() -> None:
    """Create the environment, continue in it, play the stories and write the report."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compare", description=__doc__)
    parser.add_argument("stories", nargs="*", metavar="STORY", help="only these: undisturbed, kills, long, ...")
    parser.add_argument("--only", help="only these contenders, with commas; see peers.py")
    parser.add_argument(
        "--record", action="store_true", help="replace these stories in recorded.json and docs/comparison.md"
    )
    options = parser.parse_args()
    if _ENTERED not in os.environ:
        _prepare()
        os.chdir(_ROOT)
        python = str(_VENV / "bin" / "python")
        os.execve(python, [python, "-m", "benchmarks.compare", *sys.argv[1:]], os.environ | {_ENTERED: "1"})

    from benchmarks.compare import page  # noqa: PLC0415  # these need the environment
    from benchmarks.compare.peers import PEERS  # noqa: PLC0415
    from benchmarks.compare.play import STORIES, play, say  # noqa: PLC0415
    from benchmarks.compare.servers import Servers  # noqa: PLC0415

    if unknown := set(options.stories) - set(STORIES):
        parser.error(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(STORIES)}")
    peers = [peer for peer in PEERS if options.only is None or peer.key in options.only.split(",")]
    names = options.stories or list(STORIES)
    if options.record and options.only:
        parser.error("--record is for all contenders")
    logs = _FOLDER / "logs"
    shutil.rmtree(logs, ignore_errors=True)
    with Servers(peers) as servers:
        record = {
            "machine": f"{os.cpu_count()} CPUs, Python {platform.python_version()}",
            "versions": servers.versions()
            | {name: importlib.metadata.version(name) for peer in peers for name in peer.packages},
            "stories": {},
        }
        for name in names:
            say(f"{name}, load {os.getloadavg()[0]:.1f}")
            at = datetime.now(UTC).strftime("%Y-%m-%d %H:%M")
            record["stories"][name] = {"at": at} | play(name, peers, servers, logs / name)
    say("done")
    (_FOLDER / "compared.json").write_text(json.dumps(record, indent=1) + "\n")
    sys.stdout.write(page.tables(record))
    if options.record:
        earlier = json.loads(page.RECORDED.read_text())["stories"] if page.RECORDED.exists() else {}
        played = earlier | record["stories"]
        record["stories"] = {name: played[name] for name in STORIES if name in played}
        page.RECORDED.write_text(json.dumps(record, indent=1) + "\n")
        page.PAGE.write_text(page.rendered(record))


def _prepare() -> None:
    """The environment, with cronce as it is now."""
    if not (_VENV / "bin" / "python").exists():
        venv.create(_VENV, with_pip=True)
    pip = [str(_VENV / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    requirements = Path(__file__).with_name("requirements.txt")
    subprocess.run([*pip, "--require-hashes", "-r", str(requirements)], check=True)
    subprocess.run([*pip, "--no-deps", "--force-reinstall", str(_ROOT)], check=True)


if __name__ == "__main__":
    main()
