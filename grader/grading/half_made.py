"""Schedules that stop half way, because a step raised: that is said before any missing step.

The steps in the lines behind it stand in the notebook. To be told to write them is no help.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches

from msgspec.structs import replace

from grader.assignment import CheckTable, PartTable
from grader.evidence.case import Problem, Stop
from grader.evidence.registry import Outcome, find_check, not_graded
from grader.execute.advice import explain_step
from grader.execute.known_errors import recognise
from grader.execute.result import LostCell
from grader.ir.trace import PRIMITIVES
from grader.ir.vocabulary import shown
from grader.language import Text, ended, foreign, join, say
from grader.messages.kernel import Capture
from grader.report import Part

_STEP_LENGTH = 60
_ALIASES = re.compile(r"^[ \t]*(\w+(?:[ \t]*=[ \t]*\w+)+)(?=[ \t]*(?:=|#|$))", re.MULTILINE)
"""What stands left of the last sign of an assignment to several names, and all of `one = other`."""
_LIKE = 0.8
"""How like a primitive a misspelt one is, as difflib counts."""
_DECOMPOSED = b'"DecomposeReduction"'
"""What a trace has of a sum that was decomposed; the trace is the student's word."""

_LEFT_ALONE = frozenset({"equivalence", "pure_tir", "tensorir"})
"""Checks that say what is wrong with the steps that were done, and not which are missing."""


def find_stop(part: PartTable, capture: Capture, lost: Sequence[LostCell]) -> Stop | None:
    """Return where a candidate's schedule stops; None where no step of it raised.

    Its own cell raised, or a later one that goes on with it.
    """
    if part.entry_kind != "schedule" or capture.trace is None:
        return None
    for cell in lost:
        if cell.fate != "failed" or not _is_of(capture, cell):
            continue
        if _is_refused(cell):
            known = recognise(cell.error, cell.message)
            why, remedy = explain_step(known, is_decomposed=_DECOMPOSED in capture.trace)
            told = remedy or cell.advice
            return Stop(cell.cell, cell.line, _step(cell), ended(cell.message), why, told)
        if _goes_on(capture, cell):
            why = foreign(ended(f"{cell.error}: {cell.message}".strip(": ")))
            return Stop(cell.cell, cell.line, _step(cell), cell.message, why, cell.advice)
    return None


def _is_refused(cell: LostCell) -> bool:
    """Say whether a step was refused. After any other error a schedule may be complete, unless
    steps stand behind it."""
    known = recognise(cell.error, cell.message).kind
    return cell.error == "ScheduleError" or known == "step_on_gone"


def _goes_on(capture: Capture, cell: LostCell) -> bool:
    """Say whether steps of the schedule stand on the line that raised, or behind it.

    On that line a step may be misspelt.
    """
    lines = cell.source.splitlines()
    if cell.row is None or not 1 <= cell.row <= len(lines):
        return False
    step = re.compile(rf"(?<![\w.])(?:{_names(capture, cell)})\.(\w{{1,60}})\(")
    raised, *behind = (step.findall(line.partition("#")[0]) for line in lines[cell.row - 1 :])
    if any(PRIMITIVES.intersection(each) for each in (raised, *behind)):
        return True
    return any(get_close_matches(each, PRIMITIVES, 1, _LIKE) for each in raised)


def _is_of(capture: Capture, cell: LostCell) -> bool:
    if cell.cell == capture.cell:
        return True
    goes_on = re.search(rf"(?<![\w.])(?:{_names(capture, cell)})\.", cell.source)
    return cell.cell > capture.cell and goes_on is not None


def _names(capture: Capture, cell: LostCell) -> str:
    """Return the names that a cell has for a schedule: `s = sch = Schedule(mod)` are two."""
    names = {capture.name}
    for chain in _ALIASES.findall(cell.source):
        others = set(re.split(r"[ \t]*=[ \t]*", chain))
        names |= others if names & others else set()
    return "|".join(map(re.escape, sorted(names)))


def _step(cell: LostCell) -> str:
    """Return the line that raised; empty where it is not known, or no call."""
    lines = cell.source.splitlines()
    if cell.row is None or not 1 <= cell.row <= len(lines):
        return ""
    text = lines[cell.row - 1].strip()
    primitive, mark, _ = cell.message.partition(": ")
    is_named = f"{primitive.replace('-', '_')}(" in text if mark else "(" in text
    return text if is_named and len(text) <= _STEP_LENGTH else ""


def with_stop(
    outcomes: Mapping[str, Outcome], tables: Iterable[CheckTable], stop: Stop | None
) -> dict[str, Outcome]:
    """Return what the checks say, with the error first in those that lack what stands behind it.

    A schedule that lacks something is not timed: it is half of what the student has written.
    """
    found = dict(outcomes)
    if stop is None:
        return found
    kinds = {table.id: table for table in tables}
    lacking = [
        name
        for name, outcome in found.items()
        if outcome.verdict in ("failed", "partial") and kinds[name].kind not in _LEFT_ALONE
    ]
    for name in lacking:
        reason = join(told_stop(stop), found[name].reason)
        told = {"reason": reason, "hint": _remedy(stop), "code": "unfinished_cell"}
        found[name] = replace(found[name], **told)
    for name, table in kinds.items() if lacking else ():
        if "timing" in find_check(table).needs and not table.withheld:
            reason = join(told_stop(stop), say("incomplete-schedule-not-timed"))
            problem = Problem(reason, _remedy(stop), code="unfinished_cell")
            found[name] = not_graded(problem)
    return found


def with_other_stop(graded: Part, stop: Stop | None, tables: Iterable[CheckTable]) -> Part:
    """Return a part whose schedule lacks steps, and where another one of the student's stops.

    That one lacks more. Once it is mended it may be the better one, and whoever wrote it is not
    helped by what an example of the notebook lacks.
    """
    kinds = {table.id: table.kind for table in tables}
    if stop is None or graded.origin is None or graded.origin.cell == stop.cell:
        return graded
    graded_instead = say("other-schedule-earns-more-and-graded", cell=graded.origin.cell)
    told = join(told_stop(stop), graded_instead)
    checks = tuple(
        replace(each, reason=join(told, each.reason), hint=_remedy(stop))
        if each.verdict in ("failed", "partial") and kinds[each.id] not in _LEFT_ALONE
        else each
        for each in graded.checks
    )
    return replace(graded, checks=checks)


def told_stop(stop: Stop) -> Text:
    """Say where a schedule stops and why, in TVM's words where nothing else is known."""
    place = _place(stop)
    if stop.why:
        return join(place, stop.why)
    return join(place, say("tvm-says", error=stop.error)) if stop.error else place


def _place(stop: Stop) -> Text:
    if stop.line is None:
        return say("schedule-stops-in-cell-where-step-raised", cell=stop.cell)
    if not stop.step:
        return say("schedule-stops-in-cell-line-where-step", cell=stop.cell, line=stop.line)
    return say(
        "schedule-stops-in-cell-line-raised", cell=stop.cell, line=stop.line, step=shown(stop.step)
    )


def _remedy(stop: Stop) -> Text:
    go_on = say("lines-after-not-run-they-may-right")
    return join(stop.remedy or say("fix-that-line"), go_on)
