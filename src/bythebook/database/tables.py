"""The tables, the same on SQLite and PostgreSQL. A change here needs a migration beside it."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    DateTime,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
    Uuid,
    func,
)

# PostgreSQL stores no NUL characters, and JSON can't hold one half of a surrogate pair.
NOT_STORABLE = re.compile("[\x00\ud800-\udfff]")


def storable(text: str) -> str:
    return NOT_STORABLE.sub("\ufffd", text)


def storable_json(value: Any) -> Any:
    """`storable` for all texts in a value, also keys; numbers that JSON can't hold become null."""
    match value:
        case float() if not math.isfinite(value):
            return None
        case str():
            return storable(value)
        case list():
            return [storable_json(item) for item in value]
        case dict():
            return {storable_json(name): storable_json(item) for name, item in value.items()}
    return value


metadata = MetaData()


class UtcDateTime(TypeDecorator[datetime]):
    """SQLite forgets time zones; every time here is UTC."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Any) -> datetime | None:
        return value.astimezone(UTC) if value else None

    def process_result_value(self, value: datetime | None, dialect: Any) -> datetime | None:
        if value is None:
            return None
        return value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)


class Document(TypeDecorator[Any]):
    """JSON; on PostgreSQL as JSONB, so that queries can look into it."""

    impl = JSON
    cache_ok = True

    def load_dialect_impl(self, dialect: Any) -> Any:
        if dialect.name != "postgresql":
            return super().load_dialect_impl(dialect)
        from sqlalchemy.dialects.postgresql import JSONB  # slow to import

        return dialect.type_descriptor(JSONB())


SessionId = Uuid(as_uuid=False)

books = Table(
    "books",
    metadata,
    Column("book_id", String(100), primary_key=True),
    Column("title", Text, nullable=False),
    Column("language", String(35), nullable=False),
    Column("base_url", Text, nullable=False),
    Column("source", Text, nullable=False),
    Column("collection_name", String(64), nullable=False),
    Column("embedding_model", Text, nullable=False),
    Column("dimension", Integer, nullable=False),
    Column("chunker_version", Integer, nullable=False),
    Column("last_full_ingest", UtcDateTime),
    Column("last_incremental_update", UtcDateTime),
    Column("background", JSON),
    Column("seen", String(64)),
)

files = Table(
    "files",
    metadata,
    Column("book_id", ForeignKey("books.book_id", ondelete="CASCADE"), primary_key=True),
    Column("source_file", Text, primary_key=True),
    Column("file_hash", String(64), nullable=False),
    Column("chunk_ids", JSON, nullable=False),
    Column("chunk_count", Integer, nullable=False),
    Column("ingested_at", UtcDateTime, nullable=False),
    Column("module", Text, nullable=False),
    Column("chapter", Integer, nullable=False),
    Column("lesson", Integer, nullable=False),
    Column("parent_doc_id", String(36), nullable=False),
    Column("url", Text, nullable=False),
    Column("chunker_version", Integer, nullable=False),
    Column("head", JSON, nullable=False),
    Column("placement", JSON, nullable=False),
    Column("seen", JSON(none_as_null=True)),
)

jobs = Table(
    "jobs",
    metadata,
    Column("job_id", Integer, primary_key=True, autoincrement=True),
    Column("book_id", String(100), nullable=False),
    Column("mode", String(20), nullable=False),
    Column("status", String(20), nullable=False),
    Column("source", Text),
    Column("files_processed", Integer, nullable=False, default=0),
    Column("files_skipped", Integer, nullable=False, default=0),
    Column("files_failed", Integer, nullable=False, default=0),
    Column("files_deleted", Integer, nullable=False, default=0),
    Column("total_files", Integer, nullable=False, default=0),
    Column("files_to_process", Integer, nullable=False, default=0),
    Column("chunks_created", Integer, nullable=False, default=0),
    Column("chunks_deleted", Integer, nullable=False, default=0),
    Column("chunks_embedded", Integer, nullable=False, default=0),
    Column("started_at", UtcDateTime, nullable=False),
    Column("completed_at", UtcDateTime),
    Column("error_message", Text),
    Column("warnings", JSON, nullable=False, default=list),
    Column("changes", JSON(none_as_null=True)),
    Index("idx_jobs_book", "book_id", "status"),
)

# Conversations. `messages` is a list of objects.
threads = Table(
    "conversation_threads",
    metadata,
    Column("thread_id", SessionId, primary_key=True),
    Column("messages", Document, nullable=False),
    Column("created_at", UtcDateTime, nullable=False, server_default=func.now()),
    Column("updated_at", UtcDateTime, nullable=False, server_default=func.now()),
    Column("topic_summary", Text),
    Column("metadata", Document, server_default="{}"),
)
Index("idx_threads_updated", threads.c.updated_at.desc())
Index("idx_threads_created", threads.c.created_at.desc())

# Conversations nobody has used for a while.
archived_threads = Table(
    "archived_threads",
    metadata,
    Column("thread_id", SessionId, primary_key=True),
    Column("messages", Document, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
    Column("topic_summary", Text),
    Column("metadata", Document, nullable=False),
    Column("archived_at", UtcDateTime, nullable=False),
)

# Of live and archived threads, the messages before those in `messages`; the oldest is number 0.
archived_messages = Table(
    "archived_messages",
    metadata,
    Column("thread_id", SessionId, primary_key=True),
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("message", Document, nullable=False),
)

keys = Table(
    "api_keys",
    metadata,
    Column("key_id", String(16), primary_key=True),
    Column("name", String(100), nullable=False),
    Column("secret_hash", String(64), nullable=False),
    Column("scopes", JSON, nullable=False),
    Column("books", JSON),
    Column("created_at", UtcDateTime, nullable=False),
    Column("expires_at", UtcDateTime),
    Column("revoked_at", UtcDateTime),
    # Sites whose pages may use a publishable key; NULL for a secret one.
    Column("origins", JSON(none_as_null=True)),
)

# Webhooks that were acted on, so that none can be replayed.
deliveries = Table(
    "webhook_deliveries",
    metadata,
    Column("digest", String(64), primary_key=True),
    Column("received_at", UtcDateTime, nullable=False),
)

# The places from which an operator lets a book be read. Left out of backups, which somebody else
# may have made. Without a foreign key: a row is there before its book is.
allowed_sources = Table(
    "allowed_sources",
    metadata,
    Column("book_id", String(100), primary_key=True),
    Column("source", Text, primary_key=True),
)

# Titles that an operator gave and pages that one removed; another ingest does not change them.
# Without a foreign key: a title may be given before the book is read.
given_titles = Table(
    "given_titles",
    metadata,
    Column("book_id", String(100), primary_key=True),
    Column("title", Text, nullable=False),
)

removed_pages = Table(
    "removed_pages",
    metadata,
    Column("book_id", String(100), primary_key=True),
    Column("source_file", Text, primary_key=True),
)

# What was asked over chat and what became of it. A session's rows go with the session; there is no
# foreign key, since a session that is archived moves to another table.
asked_questions = Table(
    "asked_questions",
    metadata,
    Column("answer_id", SessionId, primary_key=True),
    Column("asked_at", UtcDateTime, nullable=False),
    Column("book_id", String(100), nullable=False),
    Column("key_id", String(16)),
    Column("session_id", SessionId, nullable=False),
    Column("question", Text, nullable=False),
    Column("outcome", String(20), nullable=False),
    Column("confidence", Float),
    Column("confidence_level", String(20)),
    Column("nearest", JSON, nullable=False),
    Column("model", Text, nullable=False),
    Column("milliseconds", Integer, nullable=False),
    Column("rating", String(10)),
    Column("reason", Text),
    Column("metadata", Document, server_default="{}"),
    Index("idx_questions_asked", "asked_at"),
    Index("idx_questions_session", "session_id"),
)

# Jobs that several workers share, and the shares: files with their places in the book. Both are
# deleted when the job ends. As long as there is a worker, `held_until` keeps being moved ahead.
plans = Table(
    "ingestion_plans",
    metadata,
    Column("job_id", Integer, primary_key=True, autoincrement=False),
    Column("book_id", String(100), nullable=False),
    Column("is_made", Boolean, nullable=False, default=False),
    Column("fresh", Boolean, nullable=False, default=False),
    Column("deleted", JSON, nullable=False, default=list),
    Column("troubles", Integer, nullable=False, default=0),
    Column("held_until", UtcDateTime, nullable=False),
)

shares = Table(
    "ingestion_shares",
    metadata,
    Column("job_id", Integer, primary_key=True, autoincrement=False),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("files", JSON, nullable=False),
    Column("attempts", Integer, nullable=False, default=0),
    Column("done", Boolean, nullable=False, default=False),
)

# Tables that mean something only to the processes that are running now.
PASSING = (plans, shares)
