"""What `docs/site.py` finds wrong with a site; `make docs` builds the real one."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def site() -> Any:  # noqa: ANN401  # a script, loaded by its path
    """The script as a module."""
    spec = importlib.util.spec_from_file_location("site_script", ROOT / "docs" / "site.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("page", "fault"),
    [
        ('<a href="gone.html">x</a>', "index.html: the link gone.html leads nowhere"),
        ('<a href="#gone">x</a>', "index.html: the link #gone leads nowhere"),
        ('<a href="other.html#gone">x</a>', "index.html: the link other.html#gone leads nowhere"),
        ('<script src="https://cdn.example/x.js"></script>', "index.html: loads https://cdn.example/x.js"),
        ('<link rel="stylesheet" href="//cdn.example/x.css">', "index.html: loads //cdn.example/x.css"),
        ('<img src="http://cdn.example/x.png">', "index.html: loads http://cdn.example/x.png"),
    ],
)
def test_a_dead_link_and_a_foreign_resource_are_found(site: Any, tmp_path: Path, page: str, fault: str) -> None:  # noqa: ANN401
    """One fault each, named with its page."""
    (tmp_path / "index.html").write_text(page)
    (tmp_path / "other.html").write_text('<h1 id="there">x</h1>')
    assert site.check(tmp_path) == [fault]


def test_a_foreign_font_in_a_style_sheet_is_found(site: Any, tmp_path: Path) -> None:  # noqa: ANN401
    """It is loaded by the browser, not by the page."""
    (tmp_path / "x.css").write_text("@font-face { src: url(https://cdn.example/x.woff2) }")
    assert site.check(tmp_path) == ["x.css: loads a resource from elsewhere"]


def test_good_links_are_no_faults(site: Any, tmp_path: Path) -> None:  # noqa: ANN401
    """To a page, a heading, a folder and another site."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "index.html").write_text("")
    (tmp_path / "other.html").write_text('<h1 id="there">x</h1>')
    links = ("other.html", "other.html#there", "folder/", "#here", "https://example.com/", "mailto:a@example.com")
    (tmp_path / "index.html").write_text('<p id="here">' + "".join(f'<a href="{link}">x</a>' for link in links))
    assert site.check(tmp_path) == []


def test_links_to_files_that_are_no_pages_become_paths(site: Any, tmp_path: Path) -> None:  # noqa: ANN401
    """The site has no source code; its name is enough. Pages of the root move beside the others."""
    pages = tmp_path / "pages"
    site.copy_pages(pages)
    assert "](../" not in (pages / "README.md").read_text()
    assert "`examples/clock/clock.toml`" in (pages / "clock.md").read_text()
    assert "](SECURITY.md)" in (pages / "README.md").read_text()
