"""Checks by the name that `assignment.toml` gives them, and what a check says.

A check is one decorated function of a `Case` and its options. The first sentence of its docstring
is the title that the student reads.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Final, Generic, Literal, TypeVar

import msgspec

from grader.assignment import CheckTable, Table
from grader.errors import CourseError
from grader.evidence.case import Case, Problem
from grader.language import NOTHING, Text, as_text, foreign, in_a_row, say
from grader.report import CheckCode, Frozen, Verdict


class Outcome(Frozen, frozen=True):
    """The result of one check.

    `fraction` is the share of the check's points, from 0 to 1, and above 1 for a bonus. Where it
    was measured, `interval` is the width of its interval: points are rounded no finer than that.
    `again` and `code` are as of a Problem.
    """

    verdict: Verdict
    fraction: float
    reason: Text
    hint: Text = NOTHING
    interval: float = 0.0
    again: bool = False
    code: CheckCode = "undecided"


def passed(reason: str | Text) -> Outcome:
    """All points."""
    return Outcome("passed", 1.0, as_text(reason), code="passed")


def partial(
    fraction: float, reason: str | Text, hint: str | Text, code: CheckCode = "incomplete"
) -> Outcome:
    """Some of the points; nothing or everything becomes failed or passed."""
    if fraction >= 1.0:
        return passed(reason)
    if fraction <= 0.0:
        return failed(reason, hint, "unmet" if code == "incomplete" else code)
    return Outcome("partial", fraction, as_text(reason), as_text(hint), code=code)


def failed(reason: str | Text, hint: str | Text, code: CheckCode = "unmet") -> Outcome:
    """No points, and why."""
    return Outcome("failed", 0.0, as_text(reason), as_text(hint), code=code)


NOT_RUN: Final = Problem(say("The module was not run."), code="not_run")
"""Why a check that needs outputs has none, where nobody asked for any."""


def not_graded(problem: Problem) -> Outcome:
    """No points because there was nothing to decide from."""
    return Outcome(
        "not_graded", 0.0, problem.reason, problem.hint, again=problem.again, code=problem.code
    )


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
                say(
                    "The options of check {id} are wrong: {error}.",
                    id=repr(table.id),
                    error=str(error),
                ),
                say("See docs/assignment.md."),
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
                say("There are two kinds of checks called {kind}.", kind=repr(self.kind)),
                say("Rename the one in {file}.", file=_file(decide)),
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
            say(
                "Check {id} is of an unknown kind {kind}.", id=repr(table.id), kind=repr(table.kind)
            ),
            say("There is: {names}.", names=in_a_row(sorted(_KINDS))),
        )
    return _KINDS[table.kind]


def registered_kinds() -> list[CheckKind]:
    """Return all checks that are registered, by name."""
    return [kind for _, kind in sorted(_KINDS.items())]
