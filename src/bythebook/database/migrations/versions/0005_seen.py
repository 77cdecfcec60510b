"""What a folder said of a file when it was read."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("files", sa.Column("seen", sa.JSON))


def downgrade() -> None:
    op.drop_column("files", "seen")
