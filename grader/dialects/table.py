"""The migration table: one row for each name or pattern that today's TVM spells otherwise."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec

from grader.decoding import prepared
from grader.language import Text, say

Dialect = Literal["2022", "2023-24", "2025", "2026"]

DIALECTS: tuple[Dialect, ...] = ("2022", "2023-24", "2025", "2026")
"""From the nightly builds that the course was written for to the API that the table ends with."""

CURRENT: Dialect = "2026"

CURRENT_TVM = "0.27"
"""The releases of TVM, up to their second number, whose API is the one the table ends with."""

Kind = Literal["name", "method", "keyword", "call", "script", "text"]


class DialectRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One spelling: in which dialects it is right, what it is today, and an example of both.

    `kind` says what is rewritten. A `name` is a dotted name, written out from `tvm` on, and all
    that begins with it, wherever imports let it be known. A `method` is an attribute of any object.
    A `keyword` is an argument's name in calls of `callee`. The others, arguments of calls,
    TVMScript and plain text, are rewritten by the rule that has the row's id. `sees` are words of
    which a statement must have one for the row to apply. Both examples are cells.
    """

    id: str
    dialects: tuple[Dialect, ...]
    kind: Kind
    was: str
    becomes: str
    before: str
    after: str
    sees: tuple[str, ...] = ()
    callee: tuple[str, ...] = ()
    note: str = ""

    def __post_init__(self) -> None:
        if CURRENT in self.dialects or not self.dialects:
            raise ValueError(f"{self.id}: a row is of older dialects")

    @property
    def words(self) -> tuple[str, ...]:
        """What a text must hold for this row to apply: the last part of the old name, mostly."""
        return self.sees or (self.was.rsplit(".", 1)[-1],)


Why = Literal[
    "structural_equal",
    "relay",
    "lower",
    "te_schedule",
    "alloc_tensor",
    "match_shape",
    "stmt_functor",
    "autotvm",
    "auto_scheduler",
]
"""Why nothing supplies a name."""

_REASONS: Mapping[Why, Text] = {
    "structural_equal": say("today-structural-equal-package-tvm-ffi"),
    "relay": say("relay-has-been-removed-relax-what-followed"),
    "lower": say("function-has-been-removed-build-module"),
    "te_schedule": say("schedules-tensor-expressions-have-been-removed-make"),
    "alloc_tensor": say("operator-virtual-machine-relax-op-builtin-alloc"),
    "match_shape": say("r-match-cast-which-followed-takes-type"),
    "stmt_functor": say("visitors-structural-walk-and-structural-map-package"),
    "autotvm": say("autotvm-has-been-removed"),
    "auto_scheduler": say("auto-scheduler-has-been-removed-there-tvm"),
}


class Gone(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A name from `tvm` on that no rewrite supplies, and why not.

    `supplied` says that the compatibility module in the student kernel does.
    """

    name: str
    dialects: tuple[Dialect, ...]
    why: Why
    supplied: bool = False

    @property
    def reason(self) -> Text:
        """Why not, in a clause."""
        return _REASONS[self.why]


class _Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    row: tuple[DialectRow, ...]
    gone: tuple[Gone, ...]


@cache
def _table() -> _Table:
    content = Path(__file__).with_name("table.toml").read_bytes()
    return msgspec.toml.decode(content, type=prepared(_Table))


@cache
def rows() -> tuple[DialectRow, ...]:
    """Return all rows, in the table's order."""
    return _table().row


def names_gone() -> tuple[Gone, ...]:
    """Return the names that no rewrite supplies."""
    return _table().gone


def gone(full: str) -> Gone | None:
    """Return what is said of a name, or of one that it begins with; None if nothing is."""
    for each in names_gone():
        if full == each.name or full.startswith(f"{each.name}."):
            return each
    return None


@cache
def by_id() -> dict[str, DialectRow]:
    """Return all rows by id. Raises ValueError when two have the same one."""
    found = {row.id: row for row in rows()}
    if len(found) != len(rows()):
        raise ValueError("two rows of the migration table have the same id")
    return found


@cache
def of_kind(kind: Kind) -> dict[str, DialectRow]:
    """Return the rows of a kind by what they rewrite."""
    return {row.was: row for row in rows() if row.kind == kind}


def recognise(ids: frozenset[str], others: tuple[tuple[Dialect, ...], ...] = ()) -> Dialect:
    """Say which dialect a text is in whose rows matched: the one that most of them belong to.

    `others` are the dialects of further findings. Among equals it is the newest; with nothing found
    it is today's.
    """
    found = [*(by_id()[each].dialects for each in ids), *others]
    if not found:
        return CURRENT
    counts = [sum(dialect in each for each in found) for dialect in DIALECTS]
    return DIALECTS[max(range(len(DIALECTS)), key=lambda index: (counts[index], index))]


def describe_api(version: str) -> Text:
    """Say whether a release of TVM has the API that the table ends with."""
    if version.split(".")[:2] == CURRENT_TVM.split("."):
        return say("api-that-grader-migrates-notebooks", dialect=CURRENT)
    return say("another-api-than-one-that-grader-migrates", version=CURRENT_TVM)
