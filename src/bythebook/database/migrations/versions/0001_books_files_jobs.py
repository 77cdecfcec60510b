"""Books, their files and ingestion jobs."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "books",
        sa.Column("book_id", sa.String(100), primary_key=True),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("language", sa.String(35), nullable=False),
        sa.Column("base_url", sa.Text, nullable=False),
        sa.Column("source", sa.Text, nullable=False),
        sa.Column("collection_name", sa.String(64), nullable=False),
        sa.Column("embedding_model", sa.Text, nullable=False),
        sa.Column("dimension", sa.Integer, nullable=False),
        sa.Column("chunker_version", sa.Integer, nullable=False),
        sa.Column("last_full_ingest", TIME),
        sa.Column("last_incremental_update", TIME),
    )
    op.create_table(
        "files",
        sa.Column(
            "book_id",
            sa.String(100),
            sa.ForeignKey("books.book_id", ondelete="CASCADE"),
            primary_key=True,
        ),
        sa.Column("source_file", sa.Text, primary_key=True),
        sa.Column("file_hash", sa.String(64), nullable=False),
        sa.Column("chunk_ids", sa.JSON, nullable=False),
        sa.Column("chunk_count", sa.Integer, nullable=False),
        sa.Column("ingested_at", TIME, nullable=False),
        sa.Column("module", sa.Text, nullable=False),
        sa.Column("chapter", sa.Integer, nullable=False),
        sa.Column("lesson", sa.Integer, nullable=False),
        sa.Column("parent_doc_id", sa.String(36), nullable=False),
        sa.Column("url", sa.Text, nullable=False),
        sa.Column("chunker_version", sa.Integer, nullable=False),
        sa.Column("head", sa.JSON, nullable=False),
        sa.Column("placement", sa.JSON, nullable=False),
    )
    op.create_table(
        "jobs",
        sa.Column("job_id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("book_id", sa.String(100), nullable=False),
        sa.Column("mode", sa.String(20), nullable=False),
        sa.Column("status", sa.String(20), nullable=False),
        sa.Column("files_processed", sa.Integer, nullable=False),
        sa.Column("files_skipped", sa.Integer, nullable=False),
        sa.Column("files_failed", sa.Integer, nullable=False),
        sa.Column("files_deleted", sa.Integer, nullable=False),
        sa.Column("total_files", sa.Integer, nullable=False),
        sa.Column("files_to_process", sa.Integer, nullable=False),
        sa.Column("chunks_created", sa.Integer, nullable=False),
        sa.Column("chunks_deleted", sa.Integer, nullable=False),
        sa.Column("chunks_embedded", sa.Integer, nullable=False),
        sa.Column("started_at", TIME, nullable=False),
        sa.Column("completed_at", TIME),
        sa.Column("error_message", sa.Text),
        sa.Column("warnings", sa.JSON, nullable=False),
    )
    op.create_index("idx_jobs_book", "jobs", ["book_id", "status"])


def downgrade() -> None:
    for table in ("jobs", "files", "books"):
        op.drop_table(table)
