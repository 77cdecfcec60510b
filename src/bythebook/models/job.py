"""A run of the ingestion, the files it knows, and what it would change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, computed_field, model_validator

from bythebook.models.examples import PIECES
from bythebook.models.values import ClosedModel, IngestionMode, JobStatus

MAX_NAMED = 50


class FileChanges(BaseModel):
    """How a book differed from what the index had of it."""

    added: int = Field(default=0, ge=0)
    changed: int = Field(default=0, ge=0)
    removed: int = Field(default=0, ge=0)
    added_files: list[str] = Field(default_factory=list, description=f"The first {MAX_NAMED}.")
    changed_files: list[str] = Field(default_factory=list, description=f"The first {MAX_NAMED}.")
    removed_files: list[str] = Field(default_factory=list, description=f"The first {MAX_NAMED}.")

    @classmethod
    def of(
        cls, added: Sequence[str] = (), changed: Sequence[str] = (), removed: Sequence[str] = ()
    ) -> FileChanges:
        return cls(
            added=len(added),
            changed=len(changed),
            removed=len(removed),
            added_files=list(added[:MAX_NAMED]),
            changed_files=list(changed[:MAX_NAMED]),
            removed_files=list(removed[:MAX_NAMED]),
        )

    def __str__(self) -> str:
        counts = ((self.added, "added"), (self.changed, "changed"), (self.removed, "removed"))
        return ", ".join(f"{count:,} {how}" for count, how in counts if count) or "no change"


class IngestionJob(ClosedModel):
    """An ingest. Skipped files are the unchanged ones and those that could not be read
    (`files_failed`); each of the latter has a warning."""

    job_id: int
    book_id: str
    mode: IngestionMode
    status: JobStatus
    source: str | None = Field(default=None, description="Folder, file or address of the book.")
    files_processed: int = Field(default=0, ge=0)
    files_skipped: int = Field(default=0, ge=0)
    files_failed: int = Field(default=0, ge=0)
    files_deleted: int = Field(default=0, ge=0)
    total_files: int = Field(default=0, ge=0)
    files_to_process: int = Field(default=0, ge=0, description="Those that are new or changed.")
    chunks_created: int = Field(default=0, ge=0)
    chunks_deleted: int = Field(default=0, ge=0)
    chunks_embedded: int = Field(default=0, ge=0, description="Passages that needed a new vector.")
    started_at: AwareDatetime
    completed_at: AwareDatetime | None = None
    duration_seconds: int | None = Field(default=None, ge=0)
    error_message: str | None = None
    warnings: list[str] = Field(default_factory=list)
    changes: FileChanges | None = Field(
        default=None, description="What the ingest found changed; null before it has looked."
    )

    @model_validator(mode="after")
    def _status_fits(self) -> IngestionJob:
        if self.status == "completed":
            if self.completed_at is None:
                raise ValueError("a completed job has a completion time")
            if self.files_processed + self.files_skipped != self.total_files:
                raise ValueError("a completed job has processed or skipped every file")
        if self.status in ("queued", "running") and self.completed_at is not None:
            raise ValueError("a job that has not ended has no completion time")
        return self


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


class BookChanges(BaseModel):
    """The files of a book, compared with what the index has of them."""

    model_config = ConfigDict(json_schema_extra={"examples": [PIECES["book_changes"]]})

    book_id: str
    new: list[str]
    modified: list[str]
    moved: list[str] = Field(
        description="Unchanged files whose number, title or address changed because others did."
    )
    deleted: list[str]
    failed: list[str] = Field(description="Files that can't be read; each has a warning.")
    unchanged: int = Field(ge=0)
    chunks_to_delete: int = Field(
        ge=0,
        description="Passages that the index has of modified and deleted files; those that an "
        "edit left as they were stay.",
    )
    warnings: list[str]
    up_to_date: bool = Field(description="Whether an incremental ingest has nothing to do.")
