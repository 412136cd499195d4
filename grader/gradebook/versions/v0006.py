"""What a second person marked without seeing the first one's marking: it gives no points."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Make the table: nothing was marked twice before."""
    op.create_table(
        "second_marking",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("attempt", sa.Integer, sa.ForeignKey("attempt.id"), nullable=False),
        sa.Column("part", sa.Text, nullable=False),
        sa.Column("points", sa.Text),
        sa.Column("marking", sa.Text, nullable=False),
        sa.Column("who", sa.Text, nullable=False),
        sa.Column("recorded", sa.Text, nullable=False),
    )
    op.create_index("second_marking_by_attempt", "second_marking", ["attempt"])
