"""Objections of students, and what was answered."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Make the tables: earlier objections are nowhere."""
    op.create_table(
        "objection",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("student", sa.Integer, sa.ForeignKey("student.id"), nullable=False),
        sa.Column("assignment", sa.Integer, sa.ForeignKey("assignment.id"), nullable=False),
        sa.Column("part", sa.Text, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("who", sa.Text, nullable=False),
        sa.Column("recorded", sa.Text, nullable=False),
    )
    op.create_index("objection_by_student", "objection", ["student"])
    op.create_table(
        "reply",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("objection", sa.Integer, sa.ForeignKey("objection.id"), nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("who", sa.Text, nullable=False),
        sa.Column("adjustment", sa.Integer, sa.ForeignKey("adjustment.id"), unique=True),
        sa.Column("recorded", sa.Text, nullable=False),
    )
    op.create_index("reply_by_objection", "reply", ["objection"])
