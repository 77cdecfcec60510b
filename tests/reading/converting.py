"""Converting one file in a test, and the passages that the rest of the pipeline makes of it."""

from __future__ import annotations

from bythebook.reading.readers import Converted, reader_for, suffix_of
from reading.reading_tools import Page, book_of, check_page, read_sources


def converted(data: bytes, path: str) -> Converted:
    """What the reader alone makes of it: nothing between it and the test hides its errors."""
    return reader_for(suffix_of(path))(data, path)


def text_of(data: bytes, path: str) -> str:
    return converted(data, path).text


def page_of(data: bytes, path: str) -> Page:
    page = read_sources(book_of((path,)), {path: data})[path]
    check_page(page)
    return page
