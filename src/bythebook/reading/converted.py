"""What a reader makes of a file that is not Markdown: Markdown text, and where each part was."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bythebook.reading.toctree import Titled


@dataclass(frozen=True)
class Place:
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
    places: tuple[Place, ...] = ()
    language: str | None = None
    problems: tuple[str, ...] = ()
    clean: bool = True
    chaptered: bool = False
    contents: tuple[Titled, ...] = ()


# Bytes and path of a file in; what can't be read is an InputError.
Reader = Callable[[bytes, str], Converted]
