"""Reading a text or a folder in tests, and the rules every document must keep."""

from __future__ import annotations

import hashlib
import uuid
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from bythebook.models.chunk import NAMESPACE, DocumentChunk, count_words
from bythebook.reading.blocks import Parsed, parse_blocks
from bythebook.reading.chunking import MAX_TOKENS
from bythebook.reading.document import Document, read_document
from bythebook.reading.layout import Book, find_book
from bythebook.reading.markup import subtract
from bythebook.reading.metadata import Head, Manifest, read_front_matter, read_head
from bythebook.reading.placement import Placement, place_pages
from bythebook.reading.slugs import Flavor
from bythebook.reading.source import Source, decode, read_bytes

LESSON = "module-1-basics/chapter-2/03-lesson.md"
MAX_BYTES = 20_000_000


@dataclass(frozen=True)
class Page:
    """A file, read; `parsed` is what the reader made of its markup."""

    book: Book
    source: Source
    head: Head
    placement: Placement
    parsed: Parsed
    document: Document
    problems: tuple[str, ...]

    @property
    def chunks(self) -> tuple[DocumentChunk, ...]:
        return self.document.chunks

    @property
    def texts(self) -> list[str]:
        return [chunk.text for chunk in self.chunks]

    @property
    def text(self) -> str:
        return "\n".join(self.texts)

    @property
    def urls(self) -> list[str]:
        return [chunk.metadata.url for chunk in self.chunks]


def book_of(files: tuple[str, ...], flavor: Flavor = "plain") -> Book:
    return Book(
        book_id="book",
        title="The Book",
        root=Path("nowhere"),
        top=Path("nowhere"),
        flavor=flavor,
        base_url="https://example.org",
        language="en",
        manifest=Manifest(),
        files=files,
    )


def read_text(text: str, file: str = LESSON, flavor: Flavor = "plain") -> Page:
    """A page of a book that is nowhere on disk."""
    return read_sources(book_of((file,), flavor), {file: text.encode()})[file]


def read_sources(book: Book, contents: dict[str, bytes]) -> dict[str, Page]:
    sources = {file: decode(file, data) for file, data in contents.items()}
    fronts = {file: read_front_matter(source.text) for file, source in sources.items()}
    heads = {
        file: read_head(source.text, fronts[file], source.contents)
        for file, source in sources.items()
    }
    placements = place_pages(book, {file: head for file, (head, _) in heads.items()})
    pages: dict[str, Page] = {}
    for file, placement in placements.items():
        source, front = sources[file], fronts[file]
        parsed: list[Parsed] = []

        def recorded(
            source: Source, start: int, mdx: bool, parsed: list[Parsed] = parsed
        ) -> Parsed:
            parsed.append(parse_blocks(source, start, mdx))
            return parsed[-1]

        with patch("bythebook.reading.document.parse_blocks", recorded):
            document = read_document(book, source, front, placement)
        pages[file] = Page(
            book=book,
            source=source,
            head=heads[file][0],
            placement=placement,
            parsed=parsed[0],
            document=document,
            problems=(*heads[file][1], *document.problems),
        )
    return pages


def read_folder(root: Path, book_id: str | None = None) -> dict[str, Page]:
    book = find_book(root, book_id)
    return read_sources(book, {file: read_bytes(book.root, file, MAX_BYTES) for file in book.files})


def write_files(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    return root


def words(count: int, word: str = "word") -> str:
    """A paragraph of so many different words, in sentences of ten."""
    return " ".join(f"{word}{n}{'.' if n % 10 == 9 else ''}" for n in range(count))


def check_page(page: Page) -> None:
    """Everything that holds for every document."""
    for chunk in page.chunks:
        check_spans(chunk, page.source)
        check_counts(chunk)
    check_chain(page)
    check_ids(page)
    check_nothing_lost(page)


def check_spans(chunk: DocumentChunk, source: Source) -> None:
    """The spans reproduce the text; between them is at most one space."""
    position = source_position = 0
    for span in chunk.metadata.spans:
        assert source_position <= span.start < span.end <= len(source.text)
        assert chunk.text[position : span.at] in ("", " ")
        position, source_position = span.at + span.end - span.start, span.end
        assert chunk.text[span.at : position] == source.text[span.start : span.end]
    assert position == len(chunk.text)
    assert chunk.text == chunk.text.strip()


def check_counts(chunk: DocumentChunk) -> None:
    assert chunk.char_count == len(chunk.text) >= 10
    assert chunk.word_count == count_words(chunk.text) >= 1
    assert chunk.token_count == int(chunk.word_count * 1.3) <= MAX_TOKENS


def check_chain(page: Page) -> None:
    chunks = page.chunks
    ids: list[str | None] = [None, *(chunk.id for chunk in chunks), None]
    assert len(set(ids)) == len(chunks) + 1
    for index, chunk in enumerate(chunks):
        assert chunk.metadata.chunk_index == index
        assert chunk.metadata.total_chunks == len(chunks)
        assert chunk.metadata.prev_chunk_id == ids[index]
        assert chunk.metadata.next_chunk_id == ids[index + 2]


def check_ids(page: Page) -> None:
    """The formulas, written out again."""
    place, seen = page.placement, Counter[str]()
    lesson = f"{page.book.book_id}:{place.module}:{place.chapter}:{place.lesson}"
    of_chunks = f"{lesson}:{place.slug}" if place.collides else lesson
    of_parent = lesson if place.numbered and not place.collides else f"{lesson}:{place.slug}"
    for chunk in page.chunks:
        content_hash = hashlib.sha256(chunk.text.encode()).hexdigest()
        seen[content_hash] += 1
        number = f":{seen[content_hash]}" if seen[content_hash] > 1 else ""
        string = f"{of_chunks}:{content_hash[:16]}{number}"
        assert chunk.id == str(uuid.uuid5(NAMESPACE, string))
        assert chunk.metadata.content_hash == content_hash
        assert chunk.metadata.source_file_hash == page.source.hash
        assert chunk.metadata.parent_doc_id == str(uuid.uuid5(NAMESPACE, f"{of_parent}:parent"))


def check_nothing_lost(page: Page) -> None:
    """Every visible character is in a chunk or was left out as markup, never both."""
    text, removed = page.source.text, page.parsed.markup.removed
    if not page.chunks:
        visible = "".join(text[start:end] for start, end in subtract(0, len(text), removed))
        assert len(visible.strip()) < 10
        return
    shown = sorted((s.start, s.end) for chunk in page.chunks for s in chunk.metadata.spans)
    position = 0
    for start, end in sorted([*shown, *removed]):
        assert not text[position:start].strip(), text[position:start]
        position = max(position, end)
    assert not text[position:].strip(), text[position:]
    for start, end in shown:
        assert subtract(start, end, removed) == [(start, end)]
