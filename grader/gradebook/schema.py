"""The tables of the gradebook as they are today, for queries; `versions` makes them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal
from typing import Any

from sqlalchemy import (
    Boolean,
    Column,
    ForeignKey,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    TypeDecorator,
)
from sqlalchemy.engine import Dialect

metadata = MetaData()


class Exact(TypeDecorator[Decimal]):
    """A number with all of its digits, as text: databases have no type for it in common."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Decimal | None, dialect: Dialect) -> str | None:
        """Return it as it is stored."""
        del dialect
        return None if value is None else format(value, "f")

    def process_result_value(self, value: str | None, dialect: Dialect) -> Decimal | None:
        """Return it as it was given."""
        del dialect
        return None if value is None else Decimal(value)


class StoredTime(TypeDecorator[datetime]):
    """A time with its offset from UTC, as ISO 8601 has it."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> str | None:
        """Return it as it is stored. Raises ValueError for a time that could be anywhere."""
        del dialect
        if value is not None and value.utcoffset() is None:
            raise ValueError("a time without its offset from UTC")
        return None if value is None else value.isoformat()

    def process_result_value(self, value: str | None, dialect: Dialect) -> datetime | None:
        """Return it as it was given."""
        del dialect
        return None if value is None else datetime.fromisoformat(value)


def _table(name: str, *columns: Column[Any]) -> Table:
    return Table(name, metadata, Column("id", Integer, primary_key=True), *columns)


def _texts(*names: str) -> Iterable[Column[Any]]:
    return (Column(name, Text, nullable=False) for name in names)


def _to(table: str) -> Column[Any]:
    return Column(table, ForeignKey(f"{table}.id"), nullable=False)


def _recorded() -> Column[Any]:
    return Column("recorded", StoredTime, nullable=False)


student = _table(
    "student",
    *_texts("login", "name", "email", "section", "github", "lms"),
    Column("withdrawn", StoredTime),
    _recorded(),
)
assignment = _table(
    "assignment",
    *_texts("slug", "counts", "parts"),
    Column("version", Integer, nullable=False),
    Column("points", Exact, nullable=False),
    Column("due", StoredTime),
    Column("late", Text),
)
attempt = _table(
    "attempt",
    _to("student"),
    _to("assignment"),
    *_texts("sha256", "name", "source", "together"),
    Column("told_late", Boolean, nullable=False),
    Column("content", LargeBinary, nullable=False),
    Column("handed_in", StoredTime),
    _recorded(),
)
grading = _table(
    "grading",
    _to("attempt"),
    *_texts("digest", "basis", "rubric", "grader", "machine", "level", "dialect", "seed", "parts"),
    *_texts("seconds", "noticed", "chosen_by"),
    Column("score", Exact, nullable=False),
    Column("max_score", Exact, nullable=False),
    Column("settled", Boolean, nullable=False),
    Column("graded", StoredTime, nullable=False),
    Column("report", LargeBinary, nullable=False),
    _recorded(),
)
extension = _table(
    "extension",
    _to("student"),
    _to("assignment"),
    Column("due", StoredTime),
    *_texts("reason", "who"),
    _recorded(),
)
adjustment = _table(
    "adjustment",
    _to("attempt"),
    *_texts("part", "reason", "who"),
    Column("points", Exact),
    Column("factor", Exact),
    Column("takes_back", ForeignKey("adjustment.id")),
    Column("marking", Text),
    _recorded(),
)
objection = _table(
    "objection",
    _to("student"),
    _to("assignment"),
    *_texts("part", "text", "who"),
    _recorded(),
)
reply = _table(
    "reply",
    _to("objection"),
    *_texts("text", "who"),
    Column("adjustment", ForeignKey("adjustment.id")),
    _recorded(),
)
second_marking = _table(
    "second_marking",
    _to("attempt"),
    *_texts("part", "marking", "who"),
    Column("points", Exact),
    _recorded(),
)
