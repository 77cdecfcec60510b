"""Jobs that several workers share out."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "ingestion_plans",
        sa.Column("job_id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("book_id", sa.String(100), nullable=False),
        sa.Column("is_made", sa.Boolean, nullable=False),
        sa.Column("fresh", sa.Boolean, nullable=False),
        sa.Column("deleted", sa.JSON, nullable=False),
        sa.Column("troubles", sa.Integer, nullable=False),
        sa.Column("held_until", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_table(
        "ingestion_shares",
        sa.Column("job_id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("files", sa.JSON, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("done", sa.Boolean, nullable=False),
    )


def downgrade() -> None:
    op.drop_table("ingestion_shares")
    op.drop_table("ingestion_plans")
