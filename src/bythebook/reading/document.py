"""A file of a book as chunks: looked at for the plan of an ingest, then read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import quote

from bythebook.models.chunk import (
    MIN_TEXT,
    DocumentChunk,
    DocumentMetadata,
    SectionStart,
    Span,
    chunk_ids,
    count_words,
    neighbours,
    parent_id,
    tokens_of_words,
)
from bythebook.reading.blocks import Section, parse_blocks, split_sections
from bythebook.reading.chunking import Cut, cut_sections
from bythebook.reading.layout import Book
from bythebook.reading.markup import Markup, subtract
from bythebook.reading.metadata import (
    MANIFEST,
    FrontMatter,
    Head,
    Teaching,
    read_front_matter,
    read_head,
    read_teaching,
)
from bythebook.reading.placement import Placement, with_anchor
from bythebook.reading.readers import suffix_of
from bythebook.reading.source import Source, decode, hash_bytes, hash_text, read_page_bytes


@dataclass(frozen=True)
class Glance:
    """What a plan needs of a file. One that has the hash that is known comes without its head.
    `is_filled` says that it takes text from others."""

    file_hash: str
    is_filled: bool
    head: Head | None = None
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class Document:
    """The chunks of one file and what was odd about it."""

    source_file: str
    chunks: tuple[DocumentChunk, ...]
    problems: tuple[str, ...]


@dataclass(frozen=True)
class Page:
    """A file as it is now; it may have changed since the plan."""

    file_hash: str
    document: Document
    head: Head


class PageReader(Protocol):
    """Whoever reads files: this process, or the sandbox."""

    def glance(self, book: Book, file: str, max_bytes: int, known_hash: str) -> Glance: ...

    def read(self, book: Book, file: str, placement: Placement, max_bytes: int) -> Page: ...

    def close(self) -> None: ...


class PlainReader:
    """Reads in this process, without limits."""

    def glance(self, book: Book, file: str, max_bytes: int, known_hash: str) -> Glance:
        data, is_filled = read_page_bytes(book.top, book.root, file, max_bytes)
        file_hash = hash_bytes(data)
        if file_hash == known_hash:
            return Glance(file_hash, is_filled)
        source = decode(file, data)
        head, problems = read_head(source.text, read_front_matter(source.text), source.contents)
        return Glance(file_hash, is_filled, head, tuple(problems))

    def read(self, book: Book, file: str, placement: Placement, max_bytes: int) -> Page:
        data, _ = read_page_bytes(book.top, book.root, file, max_bytes)
        source = decode(file, data)
        front = read_front_matter(source.text)
        head, _ = read_head(source.text, front, source.contents)
        return Page(source.hash, read_document(book, source, front, placement), head)

    def close(self) -> None:
        """There is nothing to end."""


PLAIN = PlainReader()


CLOSING_MARKS = ".,;:!?)]}"


@dataclass(frozen=True)
class _Text:
    text: str
    spans: list[Span]
    section: Section
    begins: int
    # Where in the text which section begins, and where in the file.
    parts: list[tuple[int, int, Section]]


def read_document(book: Book, source: Source, front: FrontMatter, placement: Placement) -> Document:
    """Cut a file into chunks; every visible character of it is in one of them."""
    mdx = source.path.endswith(".mdx") or (
        book.flavor == "docusaurus" and not suffix_of(source.path)
    )
    parsed = parse_blocks(source, front.end, mdx)
    sections = split_sections(parsed.blocks, placement.title, book.flavor)
    texts = [
        _extract(source, cut, sections, parsed.markup)
        for cut in cut_sections(sections, parsed.masked)
    ]
    texts = [text for text in texts if text.text]
    teaching, problems = read_teaching(front.values, book.manifest.defaults)
    problems += source.problems
    if source.language and source.language != book.language.partition("-")[0]:
        problems.append(
            f"its language is {source.language}, and the book's is {book.language}; "
            f"set language in {MANIFEST}"
        )
    if len(texts) == 1 and len(texts[0].text) < MIN_TEXT:
        problems.append(f"it has only {len(texts[0].text)} characters of text and was skipped")
        texts = []
    chunks = _chunks(book, source, placement, teaching, texts)
    return Document(source.path, tuple(chunks), tuple(problems))


def _extract(source: Source, cut: Cut, sections: Sequence[Section], markup: Markup) -> _Text:
    """The passage's own characters, stripped; markup between them leaves a space if it parted
    words."""
    ranges = subtract(*cut.head, markup.removed) if cut.head else []
    ranges += subtract(cut.start, cut.end, markup.removed)
    while ranges and not source.text[slice(*ranges[0])].strip():
        ranges.pop(0)
    while ranges and not source.text[slice(*ranges[-1])].strip():
        ranges.pop()
    if ranges:
        first, last = source.text[slice(*ranges[0])], source.text[slice(*ranges[-1])]
        ranges[-1] = (ranges[-1][0], ranges[-1][1] - len(last) + len(last.rstrip()))
        ranges[0] = (ranges[0][0] + len(first) - len(first.lstrip()), ranges[0][1])
    text = ""
    spans: list[Span] = []
    for start, end in ranges:
        piece = source.text[start:end]
        if text and start in markup.separators and _would_touch(text, piece):
            text += " "
        spans.append(Span(start=start, end=end, at=len(text)))
        text += piece
    section = sections[_main_section(cut)]
    begins = max(cut.core, section.blocks[0].start)
    return _Text(text, spans, section, begins, list(_parts(cut, sections, spans)))


def _parts(
    cut: Cut, sections: Sequence[Section], spans: Sequence[Span]
) -> Iterator[tuple[int, int, Section]]:
    """The sections in a passage; what is repeated from the part before belongs to the first."""
    firsts = {unit.section: unit.start for unit in reversed(cut.units)}
    for number, index in enumerate(sorted(firsts)):
        begins = firsts[index]
        span = next((span for span in spans if span.end > begins), None)
        if span is not None:
            at = span.at + max(begins - span.start, 0) if number else 0
            yield at, begins, sections[index]


def _would_touch(left: str, right: str) -> bool:
    return not left[-1].isspace() and not right[0].isspace() and right[0] not in CLOSING_MARKS


def _main_section(cut: Cut) -> int:
    """The section most of the passage is from."""
    shares: Counter[int] = Counter()
    for unit in cut.units:
        shares[unit.section] += unit.end - unit.start
    return shares.most_common(1)[0][0]


def _chunks(
    book: Book,
    source: Source,
    placement: Placement,
    teaching: Teaching,
    texts: Sequence[_Text],
) -> list[DocumentChunk]:
    parent = parent_id(placement.parent_key(book.book_id))
    hashes = [hash_text(text.text) for text in texts]
    ids = chunk_ids(placement.chunk_key(book.book_id), hashes)
    shared: dict[str, Any] = {
        "book_id": book.book_id,
        "module": placement.module,
        "chapter": placement.chapter,
        "lesson": placement.lesson,
        **teaching.model_dump(),
        "source_file": source.path,
        "parent_doc_id": parent,
        "total_chunks": len(texts),
        "source_file_hash": source.hash,
        "title": placement.title,
    }
    chunks: list[DocumentChunk] = []
    for index, text in enumerate(texts):
        words = count_words(text.text)
        metadata = DocumentMetadata(
            **shared,
            chapter_title=_chapter_title(source, placement, text.section),
            section_title=text.section.title,
            heading_path=list(text.section.path),
            url=_address(source, placement, text.section, text.begins),
            chunk_index=index,
            **neighbours(ids, index),
            content_hash=hashes[index],
            spans=text.spans,
            section_starts=[
                SectionStart(
                    at=at,
                    heading_path=list(section.path),
                    url=_address(source, placement, section, begins),
                )
                for at, begins, section in text.parts
                if len(text.parts) > 1
            ],
            **_pages(source, text),
        )
        chunks.append(
            DocumentChunk(
                id=ids[index],
                text=text.text,
                metadata=metadata,
                word_count=words,
                token_count=tokens_of_words(words),
                char_count=len(text.text),
            )
        )
    return chunks


def _chapter_title(source: Source, placement: Placement, section: Section) -> str:
    if source.chaptered:
        return section.path[1] if len(section.path) > 1 else placement.title
    return placement.chapter_title


def _address(source: Source, placement: Placement, section: Section, begins: int) -> str:
    place = source.place_at(begins)
    if place is None:
        return with_anchor(placement.url, section.anchor)
    return placement.url + quote(place.link, safe="#/~:@!$&()*+,;=?")


def _pages(source: Source, text: _Text) -> dict[str, Any]:
    """The page it begins on, and where others begin."""
    begins = source.place_at(text.begins)
    if begins is None or begins.page is None:
        return {}
    starts: list[tuple[int, int]] = []
    for span in text.spans:
        for place in source.places_in(span.start, span.end):
            if place.page and (not starts or starts[-1][1] != place.page):
                starts.append((span.at + max(place.start - span.start, 0), place.page))
    return {"page": begins.page, "page_starts": starts if len(starts) > 1 else []}
