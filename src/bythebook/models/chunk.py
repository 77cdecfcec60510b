"""A chunk: the unit that is embedded, found and cited, and the book it belongs to."""

from __future__ import annotations

import re
import uuid
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, StringConstraints

from bythebook.models.values import (
    DEFAULT_LAYER,
    DEFAULT_PROFICIENCY,
    ClosedModel,
    HardwareTier,
    ProficiencyLevel,
    TeachingLayer,
)


class Background(BaseModel):
    """What was seen of everyday questions when the book had so many passages: cosine, evidence and
    missing of each."""

    model_config = ConfigDict(frozen=True)

    passages: int = Field(ge=0)
    evidence: tuple[tuple[float, float, float], ...] = Field(min_length=1)


class BookInfo(BaseModel):
    """What `bythebook books` lists."""

    book_id: str
    title: str
    total_chunks: int = Field(ge=0)
    total_files: int = Field(ge=0)
    embedding_model: str
    dimension: int
    chunker_version: int
    language: str
    collection_name: str
    base_url: str
    source: str
    last_full_ingest: AwareDatetime | None = None
    last_incremental_update: AwareDatetime | None = None
    background: Background | None = Field(default=None, exclude=True, repr=False)
    # What its folder said when the index had all of it.
    seen: str | None = Field(default=None, exclude=True, repr=False)

    @property
    def updated_at(self) -> datetime | None:
        """When it was last read."""
        moments = (self.last_full_ingest, self.last_incremental_update)
        return max((moment for moment in moments if moment), default=None)


NAMESPACE = uuid.UUID("6ba7b810-9dad-11d1-80b4-00c04fd430c8")
# Part of what an index remembers: raise it whenever the same file would give other chunks.
CHUNKER_VERSION = 5
TOKENS_PER_WORD = 1.3
MIN_TEXT = 10

Uuid = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")]
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
# Scripts that write without spaces: there every character counts as a word.
WORD = re.compile(
    r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]|"
    r"[^\s\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+"
)


def now() -> datetime:
    return datetime.now(UTC)


def count_words(text: str) -> int:
    return sum(1 for _ in WORD.finditer(text))


def tokens_of_words(words: int) -> int:
    return int(words * TOKENS_PER_WORD)


class Span(BaseModel):
    """`source[start:end]` stands at `text[at:]` of the chunk."""

    model_config = ConfigDict(frozen=True)

    start: int = Field(ge=0)
    end: int = Field(ge=0)
    at: int = Field(ge=0)


class SectionStart(BaseModel):
    """From `text[at:]` on the passage stands under this heading."""

    model_config = ConfigDict(frozen=True)

    at: int = Field(ge=0)
    heading_path: list[str]
    url: str


class DocumentMetadata(ClosedModel):
    """Where a chunk stands in the book, for whom it is, and how it was made."""

    book_id: str = Field(min_length=1)
    module: str = Field(min_length=1)
    chapter: int = Field(ge=0)
    lesson: int = Field(ge=0)
    section_title: str | None = None
    hardware_tier: HardwareTier
    proficiency_level: ProficiencyLevel = DEFAULT_PROFICIENCY
    layer: TeachingLayer = DEFAULT_LAYER
    source_file: str = Field(min_length=1)
    parent_doc_id: Uuid
    chunk_index: int = Field(ge=0)
    total_chunks: int = Field(ge=1)
    prev_chunk_id: Uuid | None = None
    next_chunk_id: Uuid | None = None
    content_hash: Sha256
    source_file_hash: Sha256
    version: int = Field(default=1, ge=1)
    created_at: AwareDatetime = Field(default_factory=now)
    updated_at: AwareDatetime = Field(default_factory=now)

    title: str = Field(description="Title of the page.")
    chapter_title: str = Field(description="Title of the chapter, or of the page that is one.")
    heading_path: list[str] = Field(description="Headings above the passage, outermost first.")
    url: str = Field(description="Public address of the passage, with its heading's anchor.")
    spans: list[Span] = Field(
        min_length=1,
        description="Where the text stands in the file; of one that is not Markdown, in the "
        "Markdown made of it.",
    )
    page: int | None = Field(default=None, ge=1, description="Page of the file, where it has any.")
    page_starts: list[tuple[int, int]] = Field(
        default_factory=list,
        description="Where in the text which page begins, if it is on more than one.",
    )
    section_starts: list[SectionStart] = Field(
        default_factory=list,
        description="Where in the text which heading begins, if several small sections are in it.",
    )

    def page_at(self, offset: int) -> int | None:
        """The page on which a character of the text stands."""
        return next((page for at, page in reversed(self.page_starts) if at <= offset), self.page)

    def url_at(self, offset: int) -> str:
        """The address of a character of the text: of its own page, where there are pages, else of
        the heading above it."""
        if page := self.page_at(offset):
            return f"{self.url.partition('#')[0]}#page={page}"
        section = self._section_at(offset)
        return section.url if section else self.url

    def headings_at(self, offset: int) -> list[str]:
        """The headings above a character of the text, outermost first."""
        section = self._section_at(offset)
        return section.heading_path if section else self.heading_path

    def section_at(self, offset: int) -> str | None:
        """The heading above a character of the text, where it is not the page's own title."""
        section = self._section_at(offset)
        if section is None:
            return self.section_title
        return section.heading_path[-1] if len(section.heading_path) > 1 else None

    @property
    def sections(self) -> list[str]:
        """The headings that parts of it stand under."""
        paths = [self.heading_path, *(one.heading_path for one in self.section_starts)]
        return [path[-1] for path in paths if len(path) > 1]

    def _section_at(self, offset: int) -> SectionStart | None:
        return next((one for one in reversed(self.section_starts) if one.at <= offset), None)


class DocumentChunk(ClosedModel):
    """A passage of the book: `text` is the book's own, `metadata` says where it is from."""

    id: Uuid
    text: str = Field(min_length=MIN_TEXT)
    metadata: DocumentMetadata
    word_count: int = Field(ge=1)
    token_count: int = Field(ge=1)
    char_count: int = Field(ge=1)

    @property
    def embedded_text(self) -> str:
        """What the embedder and BM25 see: the passage under its headings."""
        return "\n".join([" › ".join(self.metadata.heading_path), self.text])


def lesson_key(book_id: str, module: str, chapter: int, lesson: int, slug: str = "") -> str:
    """The part of an id string that names the lesson; a slug tells lessons of one number apart."""
    key = f"{book_id}:{module}:{chapter}:{lesson}"
    return f"{key}:{slug}" if slug else key


def parent_id(key: str) -> str:
    return str(uuid.uuid5(NAMESPACE, f"{key}:parent"))


def chunk_id(key: str, content_hash: str, occurrence: int = 1) -> str:
    """The id of the n-th passage of a lesson with this content."""
    string = f"{key}:{content_hash[:16]}"
    return str(uuid.uuid5(NAMESPACE, string if occurrence == 1 else f"{string}:{occurrence}"))


def chunk_ids(key: str, content_hashes: Iterable[str]) -> list[str]:
    """The ids of a lesson's passages, in their order."""
    seen: Counter[str] = Counter()
    ids: list[str] = []
    for content_hash in content_hashes:
        seen[content_hash] += 1
        ids.append(chunk_id(key, content_hash, seen[content_hash]))
    return ids


def neighbours(ids: Sequence[str], index: int) -> dict[str, Any]:
    """The links of a lesson's passage to those beside it."""
    return {
        "prev_chunk_id": ids[index - 1] if index else None,
        "next_chunk_id": ids[index + 1] if index + 1 < len(ids) else None,
    }


def payload_of(chunk: DocumentChunk) -> dict[str, Any]:
    """The chunk as Qdrant keeps it: one flat JSON object."""
    payload = chunk.metadata.model_dump(mode="json")
    payload["spans"] = [[span.start, span.end, span.at] for span in chunk.metadata.spans]
    payload |= {
        "text": chunk.text,
        "word_count": chunk.word_count,
        "token_count": chunk.token_count,
        "char_count": chunk.char_count,
    }
    return payload
