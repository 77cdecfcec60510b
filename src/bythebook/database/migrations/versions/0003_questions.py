"""Questions that were asked; the sites that a key is for."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("api_keys", sa.Column("origins", sa.JSON))
    op.create_table(
        "asked_questions",
        sa.Column("answer_id", sa.Uuid, primary_key=True),
        sa.Column("asked_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("book_id", sa.String(100), nullable=False),
        sa.Column("key_id", sa.String(16)),
        sa.Column("session_id", sa.Uuid, nullable=False),
        sa.Column("question", sa.Text, nullable=False),
        sa.Column("outcome", sa.String(20), nullable=False),
        sa.Column("confidence", sa.Float),
        sa.Column("confidence_level", sa.String(20)),
        sa.Column("nearest", sa.JSON, nullable=False),
        sa.Column("model", sa.Text, nullable=False),
        sa.Column("milliseconds", sa.Integer, nullable=False),
        sa.Column("rating", sa.String(10)),
        sa.Column("reason", sa.Text),
    )
    op.create_index("idx_questions_asked", "asked_questions", ["asked_at"])
    op.create_index("idx_questions_session", "asked_questions", ["session_id"])


def downgrade() -> None:
    op.drop_table("asked_questions")
    op.drop_column("api_keys", "origins")
