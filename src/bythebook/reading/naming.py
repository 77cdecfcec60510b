"""The name of a book without a manifest: its project's, its folder's, or that of the one above."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from bythebook.reading.slugs import humanise

# Folders that say what is in them, but not of which project.
GENERIC_FOLDERS = frozenset(
    "book content contents doc docs documentation files pages site source sources src web website"
    " www".split()
)
# Title of a project in the configuration of its site, which is a program: only plain text counts.
TITLES = {
    "docusaurus.config.*": re.compile(
        r"""^(?P<indent>[ \t]*)title[ \t]*:[ \t]*(?P<mark>["'`])"""
        r"""(?P<title>[^"'`\\\r\n$]{1,200})(?P=mark)""",
        re.M,
    ),
    "conf.py": re.compile(
        r"""^(?P<indent>)project[ \t]*=[ \t]*u?(?P<mark>["'])"""
        r"""(?P<title>[^"'\\\r\n]{1,200})(?P=mark)""",
        re.M,
    ),
}
MAX_BYTES = 1_000_000


@dataclass(frozen=True)
class Name:
    book_id: str
    title: str


def name_book(top: Path, configured: str | None) -> Name:
    """From the folder's name, unless any project may have a folder of that name: then from the
    project's title, else from the folder above. `configured` is the title in a configuration that
    was read already."""
    title = configured or _project_title(top)
    folder = _telling_folder(top)
    if not is_generic(top):
        return Name(slug(folder), title or humanise(folder))
    return Name(slug(title or "", "") or slug(folder), title or humanise(folder))


def is_generic(folder: Path) -> bool:
    return folder.name.lower() in GENERIC_FOLDERS


def slug(name: str, instead: str = "book", longest: int = 100) -> str:
    return re.sub(r"[^a-z0-9._-]+", "-", name.lower()).strip("-._")[:longest] or instead


def _telling_folder(top: Path) -> str:
    while is_generic(top) and top.parent.name:
        top = top.parent
    return top.name or "book"


def _project_title(top: Path) -> str | None:
    """In the folder; where its name is generic, also in those above, up to the project's own."""
    for folder in (top, *top.parents):
        for pattern, line in TITLES.items():
            for file in sorted(folder.glob(pattern)):
                if title := _title_in(file, line):
                    return title
        if not is_generic(folder):
            return None
    return None


def _title_in(file: Path, line: re.Pattern[str]) -> str | None:
    """The least indented one: parts of a page have titles too."""
    with suppress(OSError):  # then it has no say
        if file.is_file() and not file.is_symlink() and file.stat().st_size <= MAX_BYTES:
            text = file.read_text(encoding="utf-8", errors="replace")
            found = sorted(line.finditer(text), key=lambda match: len(match["indent"]))
            return found[0]["title"].strip() or None if found else None
    return None
