"""What to mend first: the one cause of lost points that a student is told of before all others.

The rule: what is wrong comes before what is missing, and that before what could be better; of
these, what brings the most points; of equals, what comes first in the assignment. Nothing is
advised but what a check itself says, and nothing that the submission does not decide: a check that
waits for the instructor, for a free machine, or of which students see the points alone is no cause.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from grader.language import Sentence
from grader.render.findings import is_lost
from grader.report import Check, Part, Report
from grader.report.parts import CheckCode

_MISSING: Final[frozenset[CheckCode]] = frozenset({"absent", "unsolved"})
"""Codes of what is not there yet. So is what a cell of the handout was to make that failed, as it
does where the cells before it are not solved: nobody is told to mend the handout."""

_BETTER: Final[frozenset[CheckCode]] = frozenset({"incomplete", "slower"})
"""Codes of what is right and does not do all that was asked for."""

_WRONG: Final[frozenset[CheckCode]] = frozenset(
    {
        "unmet", "values", "shape", "dtype", "not_finite", "unwritten", "raised", "unfinished_cell",
        "needs_arguments", "not_captured", "given", "refused", "signature", "not_built",
        "run_failed", "extern_failed", "out_of_bounds", "not_deterministic", "changed_inputs",
        "other_computation", "time_limit", "crashed",
    }
)  # fmt: skip
_ORDER: Final = (_WRONG, _MISSING, _BETTER)

_DEPENDENT: Final[frozenset[CheckCode]] = frozenset({"waits", "not_run", "untimed"})
"""Codes of checks that cannot be made before another one of their part holds."""

_LEAST: Final = 1e-6
"""Points are rounded to as much."""


class Cause(NamedTuple):
    """Why points were lost. `points` are most that mending it brings, `part` counts from 0.

    `check` is the first check that lost points for this reason.
    """

    part: int
    check: Check
    points: float


def first_cause(report: Report) -> Cause | None:
    """Return what to mend first, None where nothing is to be mended that anybody knows of."""
    given = _given_cells(report)
    causes: dict[object, Cause] = {}
    for key, cause in _lost(report):
        known = causes.get(key)
        causes[key] = cause if known is None else known._replace(points=known.points + cause.points)

    def order(cause: Cause) -> tuple[int, float]:
        return _rank(cause.check, given), -round(cause.points, 6)

    ranked = sorted(causes.values(), key=order)
    return next((each for each in ranked if each.points > _LEAST), None)


def missing_parts(report: Report) -> frozenset[int]:
    """Return the places, from 0, of parts in which no check found anything to grade yet."""
    given = _given_cells(report)
    return frozenset(place for place, part in enumerate(report.parts) if _is_missing(part, given))


def _is_missing(part: Part, given: frozenset[int]) -> bool:
    missing = [_is_absent(check, given) for check in part.checks]
    rest = [check for check in part.checks if not _is_absent(check, given)]
    return any(missing) and all(each.code in _DEPENDENT for each in rest) and not part.score


def _given_cells(report: Report) -> frozenset[int]:
    return frozenset(cell.number for cell in report.cells if cell.given and cell.number)


def _is_absent(check: Check, given: frozenset[int]) -> bool:
    return check.code in _MISSING or _cell(check) in given


def _lost(report: Report) -> Iterator[tuple[object, Cause]]:
    """Yield what each check lost, under what it was lost for: neighbours may have one reason."""
    for place, part in enumerate(report.parts):
        lost = [check for check in part.checks if is_lost(check)]
        causes = [check for check in lost if _is_cause(check)]
        keys = {_key(check) for check in causes}
        # Of two causes in a part nobody knows which one the others wait for.
        waiting = [check for check in lost if check.code in _DEPENDENT] if len(keys) == 1 else []
        for check in causes:
            yield _key(check), Cause(place, check, check.max_score - check.score)
        for check in waiting:
            yield _key(causes[0]), Cause(place, causes[0], check.max_score - check.score)


def _is_cause(check: Check) -> bool:
    is_known = any(check.code in codes for codes in _ORDER)
    return is_known and not check.again and bool(check.reason or check.hint)


def _key(check: Check) -> object:
    """Return what is the same for checks that one thing mends: their words, or the cell."""
    cell = _cell(check)
    return (check.reason, check.hint) if cell is None else (check.code, cell)


def _cell(check: Check) -> object:
    """Return the cell that did not run to its end, None where it is another reason or not told."""
    reason = check.reason
    if check.code != "unfinished_cell" or not isinstance(reason, Sentence):
        return None
    return reason.values.get("cell")


def _rank(check: Check, given: frozenset[int]) -> int:
    if _is_absent(check, given):
        return _ORDER.index(_MISSING)
    return next(rank for rank, codes in enumerate(_ORDER) if check.code in codes)
