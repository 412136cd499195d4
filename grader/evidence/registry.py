"""Checks by the name that `assignment.toml` gives them, and what a check says.

A check is one decorated function of a `Case` and its options. The first sentence of its docstring
is the title that the student reads.
"""

import inspect
import math
from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

import msgspec

from grader.assignment import CheckTable, Table
from grader.course_code import blaming, fault
from grader.decoding import prepared
from grader.errors import CourseError, MistakeError
from grader.evidence.case import Case, Problem
from grader.language import NOTHING, Text, as_text, foreign, in_a_row, join, say
from grader.messages.evidence import KINDS
from grader.refusals import told
from grader.report import CheckCode, Frozen, Verdict


class Outcome(Frozen, frozen=True):
    """The result of one check.

    `fraction` is the share of the check's points, from 0 to 1, and above 1 for a bonus. Where it
    was measured, `interval` is the width of its interval: points are rounded no finer than that,
    and up no further than `above` the fraction, where the interval ends.
    `again` and `code` are as of a Problem.
    """

    verdict: Verdict
    fraction: float
    reason: Text
    hint: Text = NOTHING
    interval: float = 0.0
    again: bool = False
    code: CheckCode = "undecided"
    above: float | None = None


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


NOT_RUN: Final = Problem(say("module-not-run"), code="not_run")
"""Why a check that needs outputs has none, where nobody asked for any."""


def not_graded(problem: Problem) -> Outcome:
    """No points because there was nothing to decide from."""
    return Outcome(
        "not_graded", 0.0, problem.reason, problem.hint, again=problem.again, code=problem.code
    )


Need = str
"""What a check is decided by: a field of `Evidence`, or a kind of evidence with a folder."""

Options = TypeVar("Options", bound=Table)


class NoOptions(Table, frozen=True):
    """Options of a check that has none."""


class CheckKind(msgspec.Struct, frozen=True):
    """A registered check: its name, the evidence it needs, and the function that decides.

    `place` is the file and the line of a course's own, None for ours.
    """

    kind: str
    title: Text
    needs: frozenset[Need]
    options: type[Table]
    decide: Callable[[Case, Any], Outcome]
    place: tuple[Path, int] | None = None

    def parse(self, table: CheckTable) -> Table:
        """Convert a check's options. Raises CourseError that names the check and the field."""
        try:
            return msgspec.convert(table.options, prepared(self.options))
        except msgspec.ValidationError as error:
            known = ", ".join(self.options.__struct_fields__) or "none"
            raise CourseError(
                say("options-check-wrong", check=repr(table.id), error=told(error, self.options)),
                say("options", kind=self.kind, known=known),
            ) from None

    def outcome(self, case: Case, options: Table) -> Outcome:
        """Decide. Raises MistakeError for a mistake in one of the course's checks."""
        if self.place is None:
            return self.decide(case, options)
        path, line = self.place
        with blaming(path, _ANY_MODULE, line):
            found = self.decide(case, options)
        if isinstance(found, Outcome) and 0 <= found.fraction < math.inf:
            return found
        what = type(found).__name__ if not isinstance(found, Outcome) else str(found.fraction)
        raise fault(
            "check_outcome",
            path,
            line,
            say("check-returns-not-outcome", kind=self.kind, what=what),
            say("return-passed-partial-or-failed-on-every"),
        )


_ANY_MODULE = say("check-called-for-every-module-that-student")


_KINDS: dict[str, CheckKind] = {}


class check(Generic[Options]):  # noqa: N801 - read as a decorator
    """Register a check: `@check("equivalence", needs=("outputs",), options=NoOptions)`.

    Raises MistakeError for one that is not declared so.
    """

    def __init__(
        self, kind: str, options: type[Options] | None = None, needs: tuple[Need, ...] = ()
    ) -> None:
        if not isinstance(kind, str):
            raise _undeclared(kind, say("check-has-no-name"))
        self.kind, self.options, self.needs = kind, options, needs

    def __call__(
        self, decide: Callable[[Case, Options], Outcome]
    ) -> Callable[[Case, Options], Outcome]:
        """Register `decide` and return it unchanged."""
        options = self._declared(decide)
        # Checks are parsed in threads: msgspec must not meet the options there for the first time.
        prepared(options)
        title = heading(decide, self.kind)
        known = _KINDS.get(self.kind)
        if known is not None and _file(known.decide) != _file(decide):
            raise _undeclared(
                decide,
                say("there-two-kinds-checks-called", kind=self.kind),
                say("rename-one-in", file=_file(decide)),
            )
        code = decide.__code__
        place = None if _is_ours(decide) else (Path(code.co_filename), code.co_firstlineno)
        _KINDS[self.kind] = CheckKind(
            self.kind,
            _title(decide, self.kind, title),
            frozenset(self.needs),
            options,
            decide,
            place,
        )
        return decide

    def _declared(self, decide: Callable[[Case, Options], Outcome]) -> type[Options]:
        """Return the options of a check. Raises MistakeError for what is no declaration."""
        if self.options is None:
            told = say("check-has-no-options-class", kind=self.kind)
            raise _undeclared(decide, told)
        if not (isinstance(self.options, type) and issubclass(self.options, Table)):
            told = say("options-check-not-table", kind=self.kind)
            raise _undeclared(decide, told)
        unknown = sorted({self.needs} if isinstance(self.needs, str) else {*self.needs} - _NEEDS)
        if unknown:
            raise _undeclared(
                decide,
                say(
                    "check-needs-which-not-tuple-evidence",
                    kind=self.kind,
                    unknown=", ".join(map(repr, unknown)),
                ),
                say("needs-tuple-some", known=", ".join(sorted(_NEEDS))),
            )
        try:
            inspect.signature(decide).bind(None, None)
        except TypeError as error:
            told = say("check-does-not-take-case-and-options", kind=self.kind)
            hint = say("write-def-case-options", name=decide.__name__)
            raise _undeclared(decide, told, hint) from error
        return self.options


_NEEDS: Final = frozenset({"outputs", "stubs", "replay", "timing", *KINDS})

_DECLARE: Final = say("write-check-name-options-nooptions-or-class")


def _undeclared(decide: object, told: Text, hint: Text = _DECLARE) -> MistakeError:
    code = getattr(decide, "__code__", None)
    path = Path(code.co_filename) if code else Path("checks.py")
    return fault("check_declared", path, code and code.co_firstlineno, told, hint)


def _title(decide: Callable[..., object], kind: str, title: str) -> Text:
    """Return a check's title: our own are in the message files, a course's are in its language."""
    return say(title_id(kind)) if _is_ours(decide) else foreign(title)


def heading(decide: Callable[..., object], kind: str) -> str:
    """Return the first sentence of a check's docstring, the check's name where it has none."""
    return (inspect.getdoc(decide) or kind).split("\n\n")[0].replace("\n", " ").rstrip(".")


def title_id(kind: str) -> str:
    """Return the id of the title of a check of ours."""
    return f"check-{kind.replace('_', '-')}"


def _is_ours(decide: Callable[..., object]) -> bool:
    return (decide.__module__ or "").startswith("grader.")


def _file(function: Callable[..., object]) -> str:
    """Return where a function is written: a file may be imported again, and says the same."""
    return function.__code__.co_filename


def find_check(table: CheckTable) -> CheckKind:
    """Return the check that a table of the assignment names. Raises CourseError."""
    if table.kind not in _KINDS:
        meant = get_close_matches(table.kind, _KINDS, n=1)
        raise CourseError(
            say("check-unknown-kind", check=repr(table.id), kind=repr(table.kind)),
            join(
                say("did-you-mean", name=meant[0]) if meant else NOTHING,
                say("known", known=in_a_row(sorted(_KINDS))),
            ),
        )
    return _KINDS[table.kind]


def registered_kinds() -> list[CheckKind]:
    """Return all checks that are registered, by name."""
    return [kind for _, kind in sorted(_KINDS.items())]
