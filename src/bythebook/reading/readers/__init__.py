"""Readers of files that are not Markdown: which reads what, and what they return."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module

from bythebook.errors import BookError, InputError

# A title and what it leads to.
Titled = tuple[str, str]


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
FileReader = Callable[[bytes, str], Converted]

# Ending of the name: the module here that has a `read`.
FORMATS = {
    ".pdf": "pdf",
    ".epub": "epub",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".rst": "rst",
    ".ipynb": "notebook",
    ".docx": "docx",
}
# They hold pictures beside their text, so that they may be larger than a page of text.
WITH_PICTURES = (".pdf", ".epub", ".docx", ".ipynb")
KEPT_CHARACTERS = 20_000_000
TOCTREE = re.compile(r"[ \t]*(?P<fence>`{3,}|:{3,})\{toctree\}")

# The last conversions, oldest first.
_kept: dict[str, Converted] = {}
_lock = threading.Lock()


def suffix_of(path: str) -> str:
    name = path.rpartition("/")[2].lower()
    return next((suffix for suffix in FORMATS if name.endswith(suffix)), "")


def convert(path: str, data: bytes, file_hash: str) -> Converted:
    """The file as Markdown. An ingest asks twice: for the title, later for the text."""
    suffix = suffix_of(path)
    key = suffix + file_hash
    kept = _kept.get(key)
    if kept is None:
        kept = _convert(path, data, suffix)
        with _lock:
            _kept[key] = kept
            while sum(len(made.text) for made in _kept.values()) > KEPT_CHARACTERS:
                del _kept[next(iter(_kept))]
    return kept


def _convert(path: str, data: bytes, suffix: str) -> Converted:
    try:
        return reader_for(suffix)(data, path)
    except (BookError, MemoryError):  # the memory is the limit of the whole process
        raise
    except Exception as problem:  # one file must not end the ingest of a whole book
        raise InputError(
            f"{path} can't be read as {suffix[1:].upper()} ({type(problem).__name__}).",
            action="Save it again with another program, or remove it from the book.",
        ) from problem


def reader_for(suffix: str) -> FileReader:
    reader: FileReader = import_module(f"bythebook.reading.readers.{FORMATS[suffix]}").read
    return reader


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
