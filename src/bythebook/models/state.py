"""Which files of a book are indexed, as S3 defines it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import AwareDatetime, BaseModel, Field, computed_field


class IngestionRecord(BaseModel):
    """One indexed file. `head` and `placement` are what its numbers and address came from, `seen`
    what its folder said of it when it had this hash."""

    source_file: str
    file_hash: str
    chunk_ids: list[str]
    chunk_count: int = Field(ge=0)
    ingested_at: AwareDatetime
    book_id: str
    module: str
    chapter: int
    lesson: int
    parent_doc_id: str
    url: str
    chunker_version: int
    head: dict[str, Any] = Field(default_factory=dict)
    placement: dict[str, Any] = Field(default_factory=dict)
    seen: list[int] | None = None


class IngestionState(BaseModel):
    """The indexed files of one book."""

    book_id: str
    collection_name: str
    records: dict[str, IngestionRecord] = Field(default_factory=dict)
    last_full_ingest: AwareDatetime | None = None
    last_incremental_update: AwareDatetime | None = None

    @computed_field  # type: ignore[prop-decorator]
    @property
    def total_chunks(self) -> int:
        return sum(record.chunk_count for record in self.records.values())

    def get_changed_files(
        self, current_files: Mapping[str, str]
    ) -> tuple[list[str], list[str], list[str]]:
        """New, modified and deleted files, given the current hash of each."""
        known = self.records
        new = [path for path in current_files if path not in known]
        modified = [
            path
            for path, file_hash in current_files.items()
            if path in known and known[path].file_hash != file_hash
        ]
        deleted = [path for path in known if path not in current_files]
        return new, modified, deleted

    def get_chunks_to_delete(self, files: Iterable[str]) -> list[str]:
        return [
            chunk_id
            for path in files
            if path in self.records
            for chunk_id in self.records[path].chunk_ids
        ]
