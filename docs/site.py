"""Builds the documents as a site, and checks it: every link leads somewhere, nothing is loaded from elsewhere.

`python docs/site.py ZENSICAL OUT`: the program that builds, and the folder to build in. `make docs` calls it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from functools import partial
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

ROOT = Path(__file__).parents[1]
ROOT_PAGES = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
"""Pages of the repository's root that the site has too."""

_LINK = re.compile(r"\[([^\]\n]+)\]\((?!https?:|#)([^)#\s]+)(#[^)\s]*)?\)")
_LOADED = {("script", "src"), ("img", "src"), ("iframe", "src"), ("source", "src"), ("video", "src")}
_LOADED_LINKS = {"stylesheet", "icon", "preload", "preconnect", "modulepreload", "manifest"}
_ELSEWHERE_IN_CSS = re.compile(r"url\(\s*['\"]?(https?:)?//|@import\s+(url\()?['\"]?(https?:)?//")


def main(zensical: str, out: Path) -> int:
    """Build into `out/site`; 1 if a page is missing or something is loaded from elsewhere."""
    shutil.rmtree(out, ignore_errors=True)
    copy_pages(out / "pages")
    shutil.copy(ROOT / "docs" / "zensical.toml", out)
    subprocess.run([zensical, "build", "--strict"], cwd=out, check=True)  # noqa: S603  # the given program
    faults = check(out / "site")
    sys.stdout.writelines(f"{fault}\n" for fault in faults)
    sys.stdout.write(f"{len(list((out / 'site').rglob('*.html')))} pages in {out / 'site'}, {len(faults)} faults\n")
    return 1 if faults else 0


def copy_pages(pages: Path) -> None:
    """The documents and the root's pages in one folder; a link to a file that is no page becomes its path."""
    shutil.copytree(
        ROOT / "docs", pages, ignore=shutil.ignore_patterns("*.py", "*.toml", "requirements.txt", "__pycache__")
    )
    for name in ROOT_PAGES:
        shutil.copy(ROOT / name, pages)
    for page in pages.rglob("*.md"):
        source = ROOT if page.name in ROOT_PAGES else ROOT / "docs" / page.relative_to(pages).parent
        relinked = partial(_relinked, source=source, folder=page.parent, pages=pages)
        page.write_text(_LINK.sub(relinked, page.read_text()))


def _relinked(link: re.Match[str], *, source: Path, folder: Path, pages: Path) -> str:
    text, path, anchor = link.group(1), link.group(2), link.group(3) or ""
    target = (source / path).resolve()
    if target.parent == ROOT and target.name in ROOT_PAGES:
        inside = pages / target.name
    elif target.is_relative_to(ROOT / "docs"):
        inside = pages / target.relative_to(ROOT / "docs")
        inside = inside / "README.md" if inside.is_dir() else inside
    else:
        return f"`{target.relative_to(ROOT)}`"
    return f"[{text}]({os.path.relpath(inside, folder)}{anchor})"


def check(site: Path) -> list[str]:
    """What is wrong with the built site."""
    read = {page: _Page(page.read_text()) for page in site.rglob("*.html")}
    faults = [
        f"{sheet.relative_to(site)}: loads a resource from elsewhere"
        for sheet in site.rglob("*.css")
        if _ELSEWHERE_IN_CSS.search(sheet.read_text())
    ]
    for page, found in read.items():
        name = page.relative_to(site)
        faults += [f"{name}: loads {url}" for url in found.loaded if urlsplit(url).netloc]
        for url in found.links if page.name != "404.html" else ():
            path, anchor = urldefrag(url)
            if urlsplit(url).scheme or urlsplit(url).netloc:
                continue
            target = (page.parent / unquote(path)).resolve() if path else page
            target = target / "index.html" if target.is_dir() else target
            if not target.exists() or (anchor and target in read and unquote(anchor) not in read[target].anchors):
                faults.append(f"{name}: the link {url} leads nowhere")
    return faults


class _Page(HTMLParser):
    """Links, anchors and loaded resources of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors = {"", "__top"}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take what the tag says."""
        for name, value in attrs:
            if not value:
                continue
            if name == "id":
                self.anchors.add(value)
            elif (tag, name) in _LOADED or (tag == "link" and name == "href" and _LOADED_LINKS & self._rel(attrs)):
                self.loaded.append(value)
            elif (tag, name) == ("a", "href"):
                self.links.append(value)

    @staticmethod
    def _rel(attrs: list[tuple[str, str | None]]) -> set[str]:
        return set((dict(attrs).get("rel") or "").split())


if __name__ == "__main__":
    sys.exit(main(str(Path(sys.argv[1]).absolute()), Path(sys.argv[2]).resolve()))
