"""The first tables.

Points and times are text: exact, and the same in every database. What happened is only added to:
nothing here is updated but what a student or an assignment is called, and nothing deleted but by
`forget`.
"""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make the tables in an empty database."""
    _make_people()
    _make_work()
    _make_decisions()


def _make_people() -> None:
    op.create_table(
        "student",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("login", sa.Text, nullable=False, unique=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("email", sa.Text, nullable=False),
        sa.Column("section", sa.Text, nullable=False),
        sa.Column("github", sa.Text, nullable=False),
        sa.Column("lms", sa.Text, nullable=False),
        sa.Column("withdrawn", sa.Text),
        sa.Column("recorded", sa.Text, nullable=False),
    )
    op.create_table(
        "assignment",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("slug", sa.Text, nullable=False, unique=True),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("points", sa.Text, nullable=False),
        sa.Column("due", sa.Text),
        sa.Column("late", sa.Text),
        sa.Column("counts", sa.Text, nullable=False),
        sa.Column("parts", sa.Text, nullable=False),
    )


def _make_work() -> None:
    op.create_table(
        "attempt",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("student", sa.Integer, sa.ForeignKey("student.id"), nullable=False),
        sa.Column("assignment", sa.Integer, sa.ForeignKey("assignment.id"), nullable=False),
        sa.Column("sha256", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("source", sa.Text, nullable=False),
        sa.Column("content", sa.LargeBinary, nullable=False),
        sa.Column("handed_in", sa.Text),
        sa.Column("recorded", sa.Text, nullable=False),
        sa.UniqueConstraint("student", "assignment", "sha256", name="one_attempt_for_a_file"),
    )
    op.create_index("attempt_by_file", "attempt", ["sha256"])
    op.create_table(
        "grading",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("attempt", sa.Integer, sa.ForeignKey("attempt.id"), nullable=False),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("basis", sa.Text, nullable=False),
        sa.Column("grader", sa.Text, nullable=False),
        sa.Column("machine", sa.Text, nullable=False),
        sa.Column("seed", sa.Text, nullable=False),
        sa.Column("score", sa.Text, nullable=False),
        sa.Column("max_score", sa.Text, nullable=False),
        sa.Column("parts", sa.Text, nullable=False),
        sa.Column("settled", sa.Boolean, nullable=False),
        sa.Column("graded", sa.Text, nullable=False),
        sa.Column("report", sa.LargeBinary, nullable=False),
        sa.Column("recorded", sa.Text, nullable=False),
        sa.UniqueConstraint("attempt", "digest", name="one_grading_for_a_report"),
    )


def _make_decisions() -> None:
    op.create_table(
        "extension",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("student", sa.Integer, sa.ForeignKey("student.id"), nullable=False),
        sa.Column("assignment", sa.Integer, sa.ForeignKey("assignment.id"), nullable=False),
        sa.Column("due", sa.Text),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("who", sa.Text, nullable=False),
        sa.Column("recorded", sa.Text, nullable=False),
    )
    op.create_index("extension_by_student", "extension", ["student"])
    op.create_table(
        "adjustment",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("attempt", sa.Integer, sa.ForeignKey("attempt.id"), nullable=False),
        sa.Column("part", sa.Text, nullable=False),
        sa.Column("points", sa.Text),
        sa.Column("factor", sa.Text),
        sa.Column("takes_back", sa.Integer, sa.ForeignKey("adjustment.id"), unique=True),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("who", sa.Text, nullable=False),
        sa.Column("recorded", sa.Text, nullable=False),
    )
    op.create_index("adjustment_by_attempt", "adjustment", ["attempt"])
