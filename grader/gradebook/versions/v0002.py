"""Marking by hand: what was chosen of a rubric stands beside the points that it gave."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add the column: adjustments of before are no markings."""
    op.add_column("adjustment", sa.Column("marking", sa.Text))
