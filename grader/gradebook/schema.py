"""The tables of the gradebook as they are today, for queries; `versions` makes them."""

from collections.abc import Callable, Iterable
from datetime import datetime
from decimal import Decimal
from typing import Any

import msgspec
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

from grader.decoding import prepared
from grader.gradebook.entries import Marking, PartPoints
from grader.lateness import LatePolicy
from grader.report import utc_now

metadata = MetaData()


class Stored(TypeDecorator[Any]):
    """A value as text, made and read again by two functions.

    Every database takes the text: it is of whole characters, and none that means an end.
    """

    impl = Text
    cache_ok = True

    def __init__(self, make: Callable[[Any], str] = str, read: Callable[[str], Any] = str) -> None:
        super().__init__()
        self.make, self.read = make, read

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:
        """Return it as it is stored. Raises ValueError for a time that could be anywhere."""
        del dialect
        if value is None:
            return None
        return self.make(value).encode("utf-8", "replace").decode().replace("\0", "\ufffd")

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:
        """Return it as it was given."""
        del dialect
        return None if value is None else self.read(value)


def _in_iso(time: datetime) -> str:
    if time.utcoffset() is None:
        raise ValueError("a time without its offset from UTC")
    return time.isoformat()


def _document(kind: Any) -> Stored:
    """Return the type of a column that has values of some kind as JSON."""

    def make(value: Any) -> str:
        return msgspec.json.encode(value).decode()

    def read(text: str) -> Any:
        return msgspec.json.decode(text, type=prepared(kind))

    return Stored(make, read)


_WORDS = Stored()
_TIME = Stored(_in_iso, datetime.fromisoformat)
_EXACT = Stored(lambda number: format(number, "f"), Decimal)
"""A number with all of its digits: databases have no type for it in common."""


def _table(name: str, *columns: Column[Any]) -> Table:
    return Table(name, metadata, Column("id", Integer, primary_key=True), *columns)


def _texts(*names: str) -> Iterable[Column[Any]]:
    return (Column(name, _WORDS, nullable=False) for name in names)


def _to(table: str) -> Column[Any]:
    return Column(table, ForeignKey(f"{table}.id"), nullable=False)


def _recorded() -> Column[Any]:
    return Column("recorded", _TIME, nullable=False, default=utc_now)


student = _table(
    "student",
    *_texts("login", "name", "email", "section", "github"),
    Column("lms", _document(dict[str, str]), nullable=False),
    Column("withdrawn", _TIME),
    _recorded(),
)
assignment = _table(
    "assignment",
    *_texts("slug", "counts"),
    Column("parts", _document(tuple[str, ...]), nullable=False),
    Column("version", Integer, nullable=False),
    Column("points", _EXACT, nullable=False),
    Column("due", _TIME),
    Column("late", _document(LatePolicy)),
)
attempt = _table(
    "attempt",
    _to("student"),
    _to("assignment"),
    *_texts("sha256", "name", "source", "together"),
    Column("told_late", Boolean, nullable=False),
    Column("content", LargeBinary, nullable=False),
    Column("handed_in", _TIME),
    _recorded(),
)
grading = _table(
    "grading",
    _to("attempt"),
    *_texts("digest", "basis", "rubric", "grader", "machine", "level", "dialect", "seed"),
    *_texts("seconds", "noticed", "chosen_by"),
    Column("parts", _document(tuple[PartPoints, ...]), nullable=False),
    Column("score", _EXACT, nullable=False),
    Column("max_score", _EXACT, nullable=False),
    Column("settled", Boolean, nullable=False),
    Column("graded", _TIME, nullable=False),
    Column("report", LargeBinary, nullable=False),
    _recorded(),
)
extension = _table(
    "extension",
    _to("student"),
    _to("assignment"),
    Column("due", _TIME),
    *_texts("reason", "who"),
    _recorded(),
)
adjustment = _table(
    "adjustment",
    _to("attempt"),
    *_texts("part", "reason", "who"),
    Column("points", _EXACT),
    Column("factor", _EXACT),
    Column("takes_back", ForeignKey("adjustment.id")),
    Column("marking", _document(Marking)),
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
    *_texts("part", "who"),
    Column("marking", _document(Marking), nullable=False),
    Column("points", _EXACT),
    _recorded(),
)
