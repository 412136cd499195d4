"""What a grading is known by without its report: so that what has not changed is not read again.

Gradings from before say nothing there, and are told by nothing: they are made anew, or stay.
"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

_COLUMNS = ("rubric", "level", "dialect", "noticed", "chosen_by")


def upgrade() -> None:
    """Add the columns, empty."""
    for name in _COLUMNS:
        op.add_column("grading", sa.Column(name, sa.Text, nullable=False, server_default=""))
    op.add_column("grading", sa.Column("seconds", sa.Text, nullable=False, server_default="0"))
