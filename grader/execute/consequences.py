"""Errors that follow from another one: a name that is not defined, as its cell did not end.

Who reads "name 'weight' is not defined" looks in the wrong cell: the first one that failed was to
define it. Everything here comes from a student's process and may be anything.
"""

import itertools
import re
from collections.abc import Sequence
from typing import NamedTuple

from msgspec.structs import replace

from grader.execute.known_errors import KnownError, recognise
from grader.execute.result import Execution, LostCell
from grader.ir.vocabulary import shown
from grader.language import join, say
from grader.report import CellProblem

_STEPS = 20
"""How many cells are gone back through at most."""


class Cause(NamedTuple):
    """A cell that did not end, and the name that it was to define."""

    cell: LostCell
    name: str


def cause_of(known: KnownError, lost: Sequence[LostCell], cell: int) -> Cause | None:
    """Return the cell that an error in another one, `cell`, comes from; None where it has its own.

    That is the one which was to define a name and did not end, and of those that follow from one
    another the first.
    """
    found: Cause | None = None
    for _ in range(_STEPS):
        if known.kind != "undefined_name":
            break
        name = known.names[0]
        ended = (each for each in lost if each.cell < cell and each.fate != "unsolved")
        before = [each for each in ended if binds(each, name)]
        if not before:
            break
        found = Cause(before[-1], name)
        known, cell = recognise(found.cell.error, found.cell.message), found.cell.cell
    return found


def binds(cell: LostCell, name: str) -> bool:
    """Say whether a line of a cell that is not indented binds a name, or one of a file it runs."""
    word = re.escape(name)
    pattern = "|".join(
        (
            rf"^(?:(?:async[ \t]+)?def|class)[ \t]+{word}\b",
            rf"^[(\[*]*(?:[\w.]+[)\]]*[ \t]*,[ \t]*[(\[*]*){{0,20}}{word}[)\]]*[ \t]*"
            rf"(?:[,:][^=\n]{{0,200}})?=(?!=)",
            rf"^import[ \t][^#\n]{{0,200}}\b{word}\b",
            rf"^from[ \t]+[\w.]+[ \t]+import[ \t]*\([^)]{{0,2000}}\b{word}\b",
            rf"^from[ \t]+[\w.]+[ \t]+import[ \t][^#\n]{{0,200}}\b{word}\b",
        )
    )
    return any(re.search(pattern, text, re.MULTILINE) for text in (cell.source, cell.called))


_ASSIGNED = re.compile(r"^([A-Za-z_]\w{0,99})[ \t]*(?::[^=\n]{0,200})?=(?!=)", re.MULTILINE)
_ANEW = re.compile(rf"{_ASSIGNED.pattern}(?![^#\n]*(?<![\w.])\1\b)", re.MULTILINE)
"""`mod = LegalizeOps()(mod)` binds nothing anew: what it finds may be older."""

_NAMES = 200
"""Names of a cell that are looked for in another one."""


def stale_in(cell: LostCell, lost: Sequence[LostCell]) -> Cause | None:
    """Return the cell that failed before it had bound a name which another failed cell uses.

    What that cell found under the name is older: the lecture's module, or that of another part.
    A cell between them may have bound it, too: `mod = create_with_torch()` behind a failed one.
    """
    bound = _assigned(cell.source, _ANEW)
    for before in reversed([each for each in lost if each.cell < cell.cell]):
        bound |= _assigned(before.after, _ANEW)
        if before.fate != "failed" or before.row is None:
            continue
        lines = before.source.split("\n")
        bound |= _assigned("\n".join(lines[: before.row - 1]), _ANEW)
        # A check that fails is no reason, but an assertion of TVM's in `mod = create()` is one.
        last = before.row if before.error == "AssertionError" else len(lines)
        missing = _assigned("\n".join(lines[before.row - 1 : last])) - bound
        for name in itertools.islice(sorted(missing), _NAMES):
            if re.search(rf"(?<![\w.]){name}\b", cell.source):
                return Cause(before, name)
    return None


def _assigned(source: str, form: re.Pattern[str] = _ASSIGNED) -> set[str]:
    return {found[1] for found in form.finditer(source)}


def told_problems(execution: Execution) -> tuple[CellProblem, ...]:
    """Return the problems of a notebook; of those that follow from another one it is said."""
    lost = execution.lost
    return tuple(_told(problem, lost) for problem in execution.problems)


def _told(problem: CellProblem, lost: Sequence[LostCell]) -> CellProblem:
    known = recognise(problem.error, problem.message)
    cause = cause_of(known, lost, problem.cell)
    if cause is None:
        return problem
    told = say("cell-which-defines-did-not-end", cell=cause.cell.cell, name=shown(cause.name))
    return replace(problem, hint=join(told, problem.hint))
