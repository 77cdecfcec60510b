"""Titles that an operator gave to books, and pages that were taken out of them."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "given_titles",
        sa.Column("book_id", sa.String(100), primary_key=True),
        sa.Column("title", sa.Text, nullable=False),
    )
    op.create_table(
        "removed_pages",
        sa.Column("book_id", sa.String(100), primary_key=True),
        sa.Column("source_file", sa.Text, primary_key=True),
    )


def downgrade() -> None:
    op.drop_table("removed_pages")
    op.drop_table("given_titles")
