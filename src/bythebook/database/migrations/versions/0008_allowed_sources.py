"""Where books may be read from. Those that are known are read on from where they were."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "allowed_sources",
        sa.Column("book_id", sa.String(100), primary_key=True),
        sa.Column("source", sa.Text, primary_key=True),
    )
    op.execute(
        "INSERT INTO allowed_sources (book_id, source) SELECT book_id, source FROM books "
        "UNION SELECT book_id, source FROM jobs WHERE status = 'queued' AND source IS NOT NULL"
    )


def downgrade() -> None:
    op.drop_table("allowed_sources")
