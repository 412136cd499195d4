"""What an LMS says of lateness without a time, and which files were handed in together."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Add the columns: of earlier attempts neither is known."""
    told = sa.Column("told_late", sa.Boolean, nullable=False, server_default=sa.false())
    op.add_column("attempt", told)
    together = sa.Column("together", sa.Text, nullable=False, server_default="")
    op.add_column("attempt", together)
