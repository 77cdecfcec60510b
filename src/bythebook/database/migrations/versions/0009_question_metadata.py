"""What a caller said beside a question."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

DOCUMENT = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")


def upgrade() -> None:
    op.add_column("asked_questions", sa.Column("metadata", DOCUMENT, server_default="{}"))


def downgrade() -> None:
    with op.batch_alter_table("asked_questions") as table:
        table.drop_column("metadata")
