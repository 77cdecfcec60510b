"""What a reader makes of a file that is not Markdown, and the titles that it gives to others."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

# A title and what it leads to.
Titled = tuple[str, str]

TOCTREE = re.compile(r"[ \t]*(?P<fence>`{3,}|:{3,})\{toctree\}")


def titled_entries(lines: Iterable[str]) -> tuple[Titled, ...]:
    """The lines of a toctree that have a title of their own: `Title <path>`."""
    ended = (line.strip() for line in lines if line.rstrip().endswith(">"))
    parted = (line[:-1].rpartition("<") for line in ended)
    return tuple((title.strip(), target.strip()) for title, _, target in parted if title.strip())


def toctrees(text: str) -> tuple[Titled, ...]:
    """Those of a page in MyST."""
    if "{toctree}" not in text:
        return ()
    lines: list[str] = []
    fence = ""
    for line in text.splitlines():
        if fence and line.lstrip().startswith(fence):
            fence = ""
        elif fence:
            lines.append(line)
        elif opening := TOCTREE.match(line):
            fence = opening["fence"]
    return titled_entries(lines)


@dataclass(frozen=True)
class SourcePlace:
    """From `start` on, until the next place, the text is from this page or behind this link, which
    follows the address of the file: `#page=12`, `/text/ch2.xhtml#loops`."""

    start: int
    link: str
    page: int | None = None


@dataclass(frozen=True)
class Converted:
    """A file as Markdown. `clean` says that nothing in it is markup to be left out: `<b>` is text
    there. `chaptered` says that its highest headings are chapters of a whole book. `contents` are
    titles that it gives to other files."""

    text: str
    places: tuple[SourcePlace, ...] = ()
    language: str | None = None
    problems: tuple[str, ...] = ()
    clean: bool = True
    chaptered: bool = False
    contents: tuple[Titled, ...] = ()


# Bytes and path of a file in; what can't be read is an InputError.
Reader = Callable[[bytes, str], Converted]
