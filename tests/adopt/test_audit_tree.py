"""Which files an audit reads, and what it makes of odd ones."""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath

import pytest

from cronce.adopt.audit import tree as tree_module
from cronce.adopt.audit.tree import decoded, walk

CLOCK = "import schedule\nschedule.every().day.do(send)\n"


def paths(root: Path) -> list[str]:
    """What is worth reading there, and can be read."""
    return sorted(str(file.path) for file in walk(root).sources())


def put(root: Path, name: str, text: str | bytes = CLOCK) -> Path:
    """A file with that text."""
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_code_of_others_tests_and_examples_are_left_out(tmp_path: Path) -> None:
    """Whether in a folder or by name."""
    for name in (
        "node_modules/x/index.js",
        "vendor/x/x.go",
        ".git/hooks/run.sh",
        "tests/clock.py",
        "src/test/java/DigestTest.java",
        "docs/clock.py",
        "examples/clock.py",
        "app/test_clock.py",
        "app/clock_test.go",
        "app/clock.test.ts",
        "app/clock.min.js",
        "Shop.Tests/Clock.cs",
    ):
        put(tmp_path, name)
    put(tmp_path, "env/pyvenv.cfg", "home = /usr")
    put(tmp_path, "env/lib/x.py")
    put(tmp_path, "app/clock.py")
    put(tmp_path, "contest/clock.py")
    assert paths(tmp_path) == ["app/clock.py", "contest/clock.py"]


def test_a_folder_of_tests_is_audited_if_it_is_the_one_that_was_asked_for(tmp_path: Path) -> None:
    """Only what is below the audited folder counts."""
    put(tmp_path, "examples/clock.py")
    assert paths(tmp_path / "examples") == ["clock.py"]
    assert paths(tmp_path / "examples" / "clock.py") == ["clock.py"]


def test_gitignore_counts_in_its_folder_and_below(tmp_path: Path) -> None:
    """Later patterns win, also those of a folder below."""
    put(tmp_path, ".gitignore", "/generated/\n*.gen.py\n!kept.gen.py\n[\n")
    put(tmp_path, "app/.gitignore", "local.py\n")
    for name in ("generated/a.py", "app/generated/a.py", "a.gen.py", "app/kept.gen.py", "app/local.py", "local.py"):
        put(tmp_path, name)
    assert paths(tmp_path) == ["app/generated/a.py", "app/kept.gen.py", "local.py"]


def test_links_are_not_followed(tmp_path: Path) -> None:
    """Neither round in a loop, nor out of the folder."""
    put(tmp_path, "outside/secret.py")
    put(tmp_path, "project/app/clock.py")
    (tmp_path / "project/app/again").symlink_to(tmp_path / "project", target_is_directory=True)
    (tmp_path / "project/secret.py").symlink_to(tmp_path / "outside/secret.py")
    assert paths(tmp_path / "project") == ["app/clock.py"]


def test_a_pipe_is_no_file(tmp_path: Path) -> None:
    """Reading one would never end."""
    os.mkfifo(tmp_path / "clock.py")
    assert paths(tmp_path) == []


def test_what_cannot_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that went away, and one that is too large; the rest is read."""
    monkeypatch.setattr(tree_module, "LARGEST_SOURCE", 100)
    put(tmp_path, "a.py")
    put(tmp_path, "b.py", "#" * 101)
    gone = put(tmp_path, "c.py")
    walked = walk(tmp_path)
    gone.unlink()
    assert [str(file.path) for file in walked.sources()] == ["a.py"]
    assert [(str(each.path), each.why) for each in walked.skipped] == [
        ("b.py", "larger than 100 bytes"),
        ("c.py", "No such file or directory"),
    ]


def test_a_walk_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has a limit for files and one for nested folders; the report names what is left out."""
    monkeypatch.setattr(tree_module, "MOST_FILES", 3)
    monkeypatch.setattr(tree_module, "DEEPEST", 2)
    put(tmp_path, "a/b/c/d.py")
    assert [(str(each.path), each.why) for each in walk(tmp_path).skipped] == [("a/b", "more than 2 folders deep")]
    for number in range(5):
        put(tmp_path, f"{number}.py")
    assert len(paths(tmp_path)) == 3
    assert "more than 3 files: this one and the rest" in [each.why for each in walk(tmp_path).skipped]


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"a\r\nb\rc\n", "a\nb\nc\n"),
        (b"\xef\xbb\xbfa", "a"),
        ("a\n".encode("utf-16"), "a\n"),
        (b"caf\xe9\n", "caf�\n"),
        (b"a\0b", None),
        (b"x" * 20_001, None),
        (b"x" * 20_000 + b"\n" + b"y" * 20_000, "x" * 20_000 + "\n" + "y" * 20_000),
        (b"x\n" * 30_000 + b"y" * 20_001 + b"\nx", None),
        (b"x\n" * 30_000, "x\n" * 30_000),
        (b"", ""),
    ],
)
def test_text_is_decoded_and_the_rest_is_none(data: bytes, text: str | None) -> None:
    """Line ends of every system, marks at the start, broken encodings; binary and minified files are none."""
    assert decoded(data) == text


def test_a_name_that_is_no_text_is_read(tmp_path: Path) -> None:
    """File names are bytes."""
    (tmp_path / os.fsdecode(b"cl\xffck.py")).write_text(CLOCK)
    assert [file.path for file in walk(tmp_path).sources()] == [PurePosixPath(os.fsdecode(b"cl\xffck.py"))]
