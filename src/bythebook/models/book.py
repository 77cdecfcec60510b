"""A book as the index knows it."""

from __future__ import annotations

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field


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
