"""How well a book seems to answer everyday questions that have nothing to do with it."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("books", sa.Column("background", sa.JSON))


def downgrade() -> None:
    op.drop_column("books", "background")
