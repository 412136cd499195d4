"""Checks by the name that `assignment.toml` gives them.

A check is one decorated function of a `Case` and its options. The first sentence of its docstring
is the title that the student reads.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Generic, Literal, TypeVar

import msgspec

from grader.assignment import CheckTable, Table
from grader.checks.outcome import Outcome
from grader.errors import CourseError
from grader.evidence.case import Case
from grader.language import Text, foreign, say

Need = Literal["outputs", "stubs", "replay", "target", "timing"]
Options = TypeVar("Options", bound=Table)


class NoOptions(Table, frozen=True):
    """Options of a check that has none."""


class CheckKind(msgspec.Struct, frozen=True):
    """A registered check: its name, the evidence it needs, and the function that decides."""

    kind: str
    title: Text
    needs: frozenset[Need]
    options: type[Table]
    decide: Callable[[Case, Any], Outcome]

    def parse(self, table: CheckTable) -> Table:
        """Convert a check's options. Raises CourseError that names the check and the field."""
        try:
            return msgspec.convert(table.options, self.options)
        except msgspec.ValidationError as error:
            raise CourseError(
                f"The options of check {table.id!r} are wrong: {error}.", "See docs/assignment.md."
            ) from None


_KINDS: dict[str, CheckKind] = {}


class check(Generic[Options]):  # noqa: N801 - read as a decorator
    """Register a check: `@check("equivalence", needs=("outputs",), options=NoOptions)`."""

    def __init__(self, kind: str, options: type[Options], needs: tuple[Need, ...] = ()) -> None:
        self.kind, self.options, self.needs = kind, options, frozenset(needs)

    def __call__(
        self, decide: Callable[[Case, Options], Outcome]
    ) -> Callable[[Case, Options], Outcome]:
        """Register `decide` and return it unchanged."""
        # Checks are parsed in threads: msgspec must not meet the options there for the first time.
        msgspec.json.Decoder(self.options)
        title = (inspect.getdoc(decide) or self.kind).split("\n\n")[0].replace("\n", " ")
        known = _KINDS.get(self.kind)
        if known is not None and _file(known.decide) != _file(decide):
            raise CourseError(
                f"There are two kinds of checks called {self.kind!r}.",
                f"Rename the one in {_file(decide)}.",
            )
        _KINDS[self.kind] = CheckKind(
            self.kind, _title(decide, title.rstrip(".")), self.needs, self.options, decide
        )
        return decide


def _title(decide: Callable[..., object], title: str) -> Text:
    """Return a check's title: our own are in the catalogues, a course's are in its language."""
    is_ours = (decide.__module__ or "").startswith("grader.")
    return say(title) if is_ours else foreign(title)


def _file(function: Callable[..., object]) -> str:
    """Return where a function is written: a file may be imported again, and says the same."""
    return function.__code__.co_filename


def find_check(table: CheckTable) -> CheckKind:
    """Return the check that a table of the assignment names. Raises CourseError."""
    if table.kind not in _KINDS:
        raise CourseError(
            f"Check {table.id!r} is of an unknown kind {table.kind!r}.",
            f"There is: {', '.join(sorted(_KINDS))}.",
        )
    return _KINDS[table.kind]


def registered_kinds() -> list[CheckKind]:
    """Return all checks that are registered, by name."""
    return [kind for _, kind in sorted(_KINDS.items())]
