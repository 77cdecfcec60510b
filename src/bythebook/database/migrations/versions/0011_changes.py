"""What an ingest found changed."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("jobs", sa.Column("changes", sa.JSON))


def downgrade() -> None:
    with op.batch_alter_table("jobs") as table:
        table.drop_column("changes")
