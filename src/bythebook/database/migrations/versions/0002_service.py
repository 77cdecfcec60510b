"""Conversations, keys, webhooks; where a queued job finds its book."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

TIME = sa.DateTime(timezone=True)
DOCUMENT = sa.JSON().with_variant(JSONB(), "postgresql")


def upgrade() -> None:
    op.add_column("jobs", sa.Column("source", sa.Text))
    op.create_table(
        "conversation_threads",
        sa.Column("thread_id", sa.Uuid, primary_key=True),
        sa.Column("messages", DOCUMENT, nullable=False),
        sa.Column("created_at", TIME, nullable=False, server_default=sa.func.now()),
        sa.Column("updated_at", TIME, nullable=False, server_default=sa.func.now()),
        sa.Column("topic_summary", sa.Text),
        sa.Column("metadata", DOCUMENT, server_default="{}"),
    )
    for name in ("updated", "created"):
        op.create_index(f"idx_threads_{name}", "conversation_threads", [sa.text(f"{name}_at DESC")])
    op.create_table(
        "archived_threads",
        sa.Column("thread_id", sa.Uuid, primary_key=True),
        sa.Column("messages", DOCUMENT, nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("updated_at", TIME, nullable=False),
        sa.Column("topic_summary", sa.Text),
        sa.Column("metadata", DOCUMENT, nullable=False),
        sa.Column("archived_at", TIME, nullable=False),
    )
    op.create_table(
        "archived_messages",
        sa.Column("thread_id", sa.Uuid, primary_key=True),
        sa.Column("position", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("message", DOCUMENT, nullable=False),
    )
    op.create_table(
        "api_keys",
        sa.Column("key_id", sa.String(16), primary_key=True),
        sa.Column("name", sa.String(100), nullable=False),
        sa.Column("secret_hash", sa.String(64), nullable=False),
        sa.Column("scopes", sa.JSON, nullable=False),
        sa.Column("books", sa.JSON),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("expires_at", TIME),
        sa.Column("revoked_at", TIME),
    )
    op.create_table(
        "webhook_deliveries",
        sa.Column("digest", sa.String(64), primary_key=True),
        sa.Column("received_at", TIME, nullable=False),
    )


def downgrade() -> None:
    for table in (
        "webhook_deliveries",
        "api_keys",
        "archived_messages",
        "archived_threads",
        "conversation_threads",
    ):
        op.drop_table(table)
    op.drop_column("jobs", "source")
