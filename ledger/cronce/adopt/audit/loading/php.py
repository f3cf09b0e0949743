"""PHP: the script or console command that is started, and the classes that it uses. A web server starts no clock."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from cronce.adopt.audit.files import Files, below, located
from cronce.adopt.audit.loading.loaded import Loaded, followed
from cronce.adopt.audit.services.commands import Argv, program

_WEB = frozenset({"php-fpm", "apache2-foreground", "frankenphp", "httpd", "rr", "artisan-serve"})
_WEB_COMMANDS = re.compile(r"serve|octane:\w+|server:\w+")
_CONSOLES = frozenset({"artisan", "console", "craft", "yii", "drush", "magento", "occ"})
_INCLUDE = re.compile(
    r"\b(?:require|include)(?:_once)?\b[\s(]*(?:__DIR__\s*\.\s*)?[\"'](?P<target>[^\"'\n]+\.php)[\"']"
)
_USE = re.compile(r"^use\s+\\?(?P<name>[\w\\]+)", re.MULTILINE)


def loaded_by_php(command: Argv, folder: PurePosixPath, files: Files) -> Loaded | None:
    """What a command of PHP loads; None for another language, or a command that is not in the folder."""
    name = program(command)
    if name in _WEB or (name == "php" and "-S" in command):
        return Loaded(by={}, whole="a web server of PHP loads what a request needs")
    if name != "php" and name not in _CONSOLES:
        return None
    words = [word for word in (command[1:] if name == "php" else command) if not word.startswith("-")]
    at = next((index for index, word in enumerate(words) if _is_script(word, folder, files)), None)
    if at is None:
        return None
    if words[at].rpartition("/")[2] in _CONSOLES:
        given = words[at + 1] if at + 1 < len(words) else ""
        if _WEB_COMMANDS.fullmatch(given):
            return Loaded(by={}, whole="a web server of PHP loads what a request needs")
        entries = list(_of_console(given, folder, files))
    else:
        path = located(words[at], folder, files)
        entries = [path] if path is not None else []
    if not entries:
        return None
    return Loaded(by=followed(entries, lambda path: _uses(path, folder, files)))


def _is_script(word: str, folder: PurePosixPath, files: Files) -> bool:
    return word.rpartition("/")[2] in _CONSOLES or (word.endswith(".php") and located(word, folder, files) is not None)


def _of_console(name: str, folder: PurePosixPath, files: Files) -> Iterator[PurePosixPath]:
    """The class of a console command: `$signature = 'NAME ...'`, `#[AsCommand('NAME')]`, `setName('NAME')`."""
    if not name:
        return
    declares = re.compile(
        rf"(?:signature\s*=|defaultName\s*=|AsCommand\(\s*(?:name:)?|Signature\(|setName\(|Artisan::command\()"
        rf"\s*[\"']{re.escape(name)}(?=[\"'\s{{])"
    )
    for path in files.inside(folder):
        if path.suffix == ".php" and name in (text := files.fresh(path) or "") and declares.search(text):
            yield path


def _uses(path: PurePosixPath, folder: PurePosixPath, files: Files) -> Iterator[PurePosixPath]:
    r"""The files that it includes, and those of classes that it uses: `App\Mail\Digest` is `.../Mail/Digest.php`."""
    text = files.text(path) or ""
    for match in _INCLUDE.finditer(text):
        found = below(path.parent, match["target"].lstrip("/"))
        if found is not None and found in files:
            yield found
    for match in _USE.finditer(text):
        parts = match["name"].split("\\")
        for candidate in files.named(f"{parts[-1]}.php", folder):
            if len(parts) < 3 or candidate.parts[-len(parts[1:]) : -1] == tuple(parts[1:-1]):
                yield candidate
