"""Every page of two real books, Docusaurus' and MDN's, keeps every rule."""

from __future__ import annotations

from pathlib import Path

import pytest

from booktext import unpack
from bythebook.reading.chunking import MIN_TOKENS
from reading.reading_tools import Page, check_page, read_folder

BOOKS = Path(__file__).parents[3] / "shared" / "data" / "books"


def read(name: str, folder: Path) -> dict[str, Page]:
    archive = BOOKS / f"{name}.tar.xz"
    if not archive.exists():
        pytest.skip(f"{archive.name} is not here")
    unpack(archive, folder)
    return read_folder(folder, name)


@pytest.mark.parametrize(
    ("name", "flavor", "files"),
    [("docusaurus-docs", "docusaurus", 94), ("mdn-javascript", "mdn", 1666)],
)
def test_a_real_book(tmp_path: Path, name: str, flavor: str, files: int) -> None:
    pages = read(name, tmp_path)
    chunks = [chunk for page in pages.values() for chunk in page.chunks]
    assert len(pages) == files
    for page in pages.values():
        assert page.book.flavor == flavor
        assert page.problems == () or len(page.source.text) < 1000
        check_page(page)
    assert len({chunk.id for chunk in chunks}) == len(chunks)
    assert len({chunk.metadata.parent_doc_id for chunk in chunks}) == len(
        [page for page in pages.values() if page.chunks]
    )
    small = [chunk for chunk in chunks if chunk.token_count < MIN_TOKENS]
    assert sum(chunk.metadata.total_chunks > 1 for chunk in small) < len(chunks) / 100
    for markup in ("import Tabs", "</TabItem>", "{{jsxref(", "<TabItem"):
        assert not [chunk for chunk in chunks if markup in outside_code(chunk.text)]


def outside_code(text: str) -> str:
    """Lines before the first fence, without inline code."""
    before = text.partition("```")[0]
    return "".join(part for index, part in enumerate(before.split("`")) if index % 2 == 0)
