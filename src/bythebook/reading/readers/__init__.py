"""Readers of files that are not Markdown, chosen by how the file's name ends."""

from __future__ import annotations

import threading
from collections import OrderedDict
from importlib import import_module

from bythebook.errors import BookError, InputError
from bythebook.reading.converted import Converted, Reader

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


def suffix_of(path: str) -> str:
    name = path.rpartition("/")[2].lower()
    return next((suffix for suffix in FORMATS if name.endswith(suffix)), "")


def convert(path: str, data: bytes, file_hash: str) -> Converted:
    """The file as Markdown. An ingest asks twice: for the title, later for the text."""
    suffix = suffix_of(path)
    kept = _kept.get(suffix + file_hash)
    if kept is None:
        kept = _convert(path, data, suffix)
        _kept.put(suffix + file_hash, kept)
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


def reader_for(suffix: str) -> Reader:
    reader: Reader = import_module(f"bythebook.reading.readers.{FORMATS[suffix]}").read
    return reader


class _Kept:
    """The last conversions, up to a number of characters."""

    def __init__(self) -> None:
        self.found: OrderedDict[str, Converted] = OrderedDict()
        self.characters = 0
        self.lock = threading.Lock()

    def get(self, key: str) -> Converted | None:
        with self.lock:
            return self.found.get(key)

    def put(self, key: str, converted: Converted) -> None:
        with self.lock:
            if key in self.found:
                return
            self.found[key] = converted
            self.characters += len(converted.text)
            while self.characters > KEPT_CHARACTERS:
                _, oldest = self.found.popitem(last=False)
                self.characters -= len(oldest.text)


_kept = _Kept()
