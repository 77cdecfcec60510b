"""A run of the ingestion, as it is stored and shown."""

from __future__ import annotations

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, model_validator

from bythebook.models.vocabulary import IngestionMode, JobStatus


class IngestionJob(BaseModel):
    """S3's job. Skipped files are the unchanged ones and those that could not be read
    (`files_failed`); each of the latter has a warning."""

    model_config = ConfigDict(extra="forbid")

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
    chunks_embedded: int = Field(default=0, ge=0, description="How many needed a new vector.")
    started_at: AwareDatetime
    completed_at: AwareDatetime | None = None
    duration_seconds: int | None = Field(default=None, ge=0)
    error_message: str | None = None
    warnings: list[str] = Field(default_factory=list)

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
