"""What the folder of a book said when the index had all of it."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("books", sa.Column("seen", sa.String(64)))


def downgrade() -> None:
    op.drop_column("books", "seen")
