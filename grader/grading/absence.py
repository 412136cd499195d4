"""Saying why a part has nothing that could be graded."""

import itertools
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from grader.assignment import EntryKind, PartTable
from grader.diagnosis.construction import Layers, usual_cause
from grader.evidence.case import Problem
from grader.execute.advice import (
    REPLACE_STUB,
    advice_on_import,
    advice_on_loop_variable,
    advice_on_python,
    advice_on_step,
)
from grader.execute.consequences import Cause, cause_of, stale_in
from grader.execute.known_errors import KnownError, recognise
from grader.execute.misfits import advice_on_refused
from grader.execute.result import PLACEHOLDER, LostCell, Written
from grader.ir.vocabulary import shown
from grader.language import NOTHING, Text, in_a_row, join, say
from grader.messages.kernel import CaptureFailure
from grader.report import CheckCode, Origin

_ABSENT: dict[EntryKind, tuple[Text, Text]] = {
    "function": (
        say("notebook-defines-no-function-called"),
        say("define-so-that-returns-irmodule"),
    ),
    "module": (
        say("notebook-has-no-module-called"),
        say("assign-irmodule-or-primfunc"),
    ),
    "schedule": (
        say("no-schedule-found-in-notebook"),
        say("make-one-with-tvm-s-tir-schedule"),
    ),
    "space": (
        say("notebook-has-no-space-schedules-called"),
        say("define-sch-so-that-schedules-what-given"),
    ),
    "python": (
        say("notebook-defines-no-function-called"),
        say("define-as-function-numpy-arrays"),
    ),
    "importer": (
        say("notebook-defines-no-function-called"),
        say("define-fx-module-input-shapes"),
    ),
    "pass": (
        say("notebook-has-no-pass-called"),
        say("define-as-pass-or-as-function"),
    ),
}
"""What is missing, and what to do, by what is looked for."""

_NEEDS = say("takes-arguments-that-grader-cannot-know")
_NO_ARGUMENTS = say("define-function-without-arguments-or-give-them")
_SUPPLIED = say("define-function-without-arguments-give-them-default")
_FAILURES: dict[str, tuple[Text, Text]] = {
    "not_a_module": (
        say("returned-not-irmodule"),
        say("end-function-with-return-bb-get"),
    ),
    "needs_arguments": (_NEEDS, _NO_ARGUMENTS),
    "other_type": (
        say("is-of-type-not-irmodule"),
        say("assign-what-that-makes-irmodule-or-primfunc"),
    ),
    "cannot_be_saved": (
        say("module-that-built-cannot-saved"),
        say("build-from-call-tir-call-dps-packed"),
    ),
    "extern_not_portable": (
        say("external-function-cannot-taken-over"),
        say("use-only-numpy-pytorch-and-plain-values"),
    ),
}
"""The same for an entry point of which no module came, by the reason that the kernel gave."""

_OTHERWISE: dict[tuple[EntryKind, str], tuple[Text, Text]] = {
    ("importer", "needs_arguments"): (
        _NEEDS,
        say("take-traced-model-and-list-input-shapes"),
    ),
    ("pass", "not_a_module"): (
        say("made-model-not-irmodule"),
        say("return-given-module-with-another-main"),
    ),
    ("space", "not_a_module"): (
        say("returned-not-schedule"),
        say("change-given-schedule-and-return-or-nothing"),
    ),
    ("python", "extern_not_portable"): (
        say("cannot-taken-over"),
        say("use-only-numpy-and-plain-values-notebook"),
    ),
}
"""What is said in another way of some kinds of entry points."""


_LOST: dict[str, tuple[Text, Text]] = {
    "failed": (
        say("missing-cell-which-defines-ended"),
        say("fix-that-cell-then-can-graded"),
    ),
    "stopped": (
        say("missing-cell-which-defines-stopped"),
        say("notes-say-why-build-in-cell-own"),
    ),
    "not_run": (
        say("missing-cell-which-defines-not-run"),
        say("notes-say-which-cell-ended-notebook-fix"),
    ),
}
"""The same for what stands in a cell that did not run to its end, by that cell's fate."""

_FOLLOWING: dict[str, Text] = {
    "failed": say("needs-what-failed-cell-defines"),
    "stopped": say("needs-what-stopped-cell-defines"),
    "not_run": say("needs-what-cell-not-run-defines"),
}
"""The same for what needs a name that such a cell defines."""

_MADE = re.compile(
    r"^[ \t]*(?:(?:async[ \t]+)?def|class)[ \t]+(\w+)|^[ \t]*(\w+)[ \t]*(?::[^=\n]*)?=(?!=)",
    re.MULTILINE,
)
"""A name that a line binds. The text is a student's, and is not parsed here."""

_RAISED = re.compile(r"^[ \t]*raise NotImplementedError\b", re.MULTILINE)
_UNPARSED = "not implemented: Raise"
"""How TVM's parser ends at such a line within a function."""

_REFUSED = frozenset({"loop_variable", "refused_module"})
"""Codes of cells in which TVM refused something, whose advice says all that there is to say."""

_NOTHING_YET = ("NoneType", "ellipsis")
"""Types of what a placeholder is bound to."""

_ANY_CELL = 1_000_000
"""Behind all cells: a function may be called when the last one has run."""


class _Around(NamedTuple):
    """Some arguments of `explain_absence`, which says what they are."""

    lost: tuple[LostCell, ...]
    preamble: str
    layers: Layers


_NAMES = 20_000
"""How many names are looked at; a text that binds more is nobody's solution."""


def explain_absence(
    part: PartTable,
    failures: tuple[CaptureFailure, ...],
    lost: tuple[LostCell, ...] = (),
    preamble: str = "",
    layers: Layers = tuple,
    arguments: tuple[str, ...] = (),
    written: Written = Written(),  # noqa: B008
) -> Problem:
    """Say why a part has no candidate: the entry point's last failure, or that there was none.

    The failure of a module under another name is told where there is no other. What stands in a
    cell that is `lost` was made by the student, and is not said to be missing.
    `preamble` are the imports of the assignment's own notebook, `layers` returns PyTorch's layers
    for this part, which some causes of an error are tried on. `arguments` are names of parameters
    that an entry point is given values for. `written` are cells that may define it in vain: one
    key in Jupyter makes Markdown of a cell, and a function has names of its own.
    """
    around = _Around(lost, preamble, layers)
    named = [each for each in failures if part.asks_for(each.name)]
    tried = named or failures
    called = [each for each in tried if each.reason != "other_type"]
    if called:
        last = called[-1]
        if last.reason == "needs_arguments" and part.entry_kind != "importer" and arguments:
            return Problem(
                say(_NEEDS, where=_where(last), told=last.message),
                say(_SUPPLIED, names=in_a_row(arguments)),
                code="needs_arguments",
            )
        return _explain_failure(part.entry_kind, last, around)
    # What was written in another cell counts more than that the handout's is left as it was.
    ended = [each for each in lost if each.fate != "unsolved"]
    for cell, name in itertools.islice(_made(ended), _NAMES):
        if part.asks_for(name):
            return _explain_loss(cell, name, around)
    entry = part.entry[0]
    asked = re.compile(rf"\b{re.escape(entry)}\b")
    left = next((each for each in lost if _is_unsolved(each) and asked.search(each.source)), None)
    if tried and (left is None or tried[-1].message not in _NOTHING_YET):
        return _explain_failure(part.entry_kind, tried[-1], around)
    if left is not None:
        return _explain_loss(left, entry, around)
    in_vain = _defined_in_vain(part, written)
    if in_vain is not None:
        return in_vain
    reason, hint = _ABSENT[part.entry_kind]
    told = join(say(hint, entry=entry), _may_be_in(lost, entry))
    return Problem(say(reason, entry=entry), told, code="absent")


def _defined_in_vain(part: PartTable, written: Written) -> Problem | None:
    """Return which cell defines an entry point where nothing sees it, None where none does."""
    entry, (reason, _) = part.entry[0], _ABSENT[part.entry_kind]
    for number, text in written.texts.items():
        if any(entry in (match[1], match[2]) for match in _MADE.finditer(text)):
            told = say("text-cell-defines", number=number, name=entry)
            return Problem(told, say("make-text-cell-code-cell"), code="absent")
    for number, text in written.ran.items():
        for name, outer in _within_others(text):
            if part.asks_for(name):
                facts = {"name": shown(name), "outer": shown(outer)}
                within = say("cell-defines-within", cell=number, **facts)
                told = join(say(reason, entry=entry), within)
                return Problem(told, say("define-outside-of", **facts), code="absent")
    return None


def _within_others(text: str) -> Iterator[tuple[str, str]]:
    """Yield names that lines of a cell bind in a function or class, each with that one's name.

    What `def main():` binds is gone when it returns, and nothing is bound where nobody calls it. A
    line `sch=None,` is an argument of a call or a parameter.
    """
    outer = ""
    for line in itertools.islice(text.splitlines(), _NAMES):
        match = _MADE.match(line)
        if line[:1] not in ("", " ", "\t", "#", "@", ")"):
            outer = match[1] or "" if match else ""
        elif match and outer and not line.rstrip().endswith(","):
            yield match[1] or match[2], outer


_MAY_DEFINE = say("if-failed-cell-defines-fix-first")
_FOLLOWS = frozenset({"AssertionError", "NameError"})
"""Errors of cells that check or use what is not there."""


def _may_be_in(lost: tuple[LostCell, ...], entry: str) -> Text:
    """Return which cell may have been to define an entry point; empty where all have run.

    A cell of the handout that does not name it only uses it: it fails in what is not solved yet.
    """
    failed = [each for each in lost if each.fate == "failed" and each.error not in _FOLLOWS]
    own = next((each for each in failed if not each.is_given), None)
    return NOTHING if own is None else say(_MAY_DEFINE, cell=own.cell, entry=entry)


def explain_stale(
    origin: Origin,
    lost: tuple[LostCell, ...] = (),
    preamble: str = "",
    layers: Layers = tuple,
) -> Problem | None:
    """Say that what was graded was made of something older, as the cell that was to make it anew
    failed; None where its own cell has run, or has all that it uses."""
    cell = next((each for each in lost if each.cell == origin.cell and each.fate == "failed"), None)
    cause = None if cell is None else stale_in(cell, lost)
    if cause is None:
        return None
    where = say("name-in-code-cell", name=origin.name, cell=origin.cell)
    hint = _advice(cause.cell, origin.name, _Around(lost, preamble, layers))
    return Problem(_told_following(where, cause), hint, code="unfinished_cell")


def _made(lost: Sequence[LostCell]) -> Iterator[tuple[LostCell, str]]:
    for cell in lost:
        for text in (cell.source, cell.called):
            for match in _MADE.finditer(text):
                yield cell, match[1] or match[2]


def _explain_loss(cell: LostCell, name: str, around: _Around) -> Problem:
    if _is_unsolved(cell):
        return Problem(
            say("not-solved-yet", where=say("name-in-code-cell", name=name, cell=cell.cell)),
            REPLACE_STUB,
            code="unsolved",
        )
    known = recognise(cell.error, cell.message)
    cause = cause_of(known, around.lost, cell.cell)
    if cause is not None:
        where = say("name-in-code-cell", name=name, cell=cell.cell)
        told = _told_following(where, cause)
        return Problem(told, _advice(cause.cell, name, around), code="unfinished_cell")
    reason, _ = _LOST[cell.fate]
    told = say(reason, name=name, cell=cell.cell, error=_error(cell))
    return Problem(told, _advice(cell, name, around), code="unfinished_cell")


def _is_unsolved(cell: LostCell) -> bool:
    """Say whether a placeholder of the cell's own is left: it ran, or ended there or behind it."""
    if cell.fate != "failed":
        return cell.fate == "unsolved"
    raised = recognise(cell.error, cell.message).kind == "not_implemented"
    ended_there = raised or cell.message.endswith(_UNPARSED)
    is_stub = ended_there and bool(_RAISED.search(cell.source))
    return is_stub or bool(PLACEHOLDER.search(cell.source))


def _told_following(where: Text, cause: Cause) -> Text:
    """Say that something is missing because another cell, which defines a name, did not end."""
    cell = cause.cell
    return say(
        _FOLLOWING[cell.fate],
        where=where,
        name=shown(cause.name),
        cell=cell.cell,
        error=_error(cell),
    )


def _error(cell: LostCell) -> str:
    return f"{cell.error}: {cell.message}".strip(": ")


def _advice(cell: LostCell, name: str, around: _Around) -> Text:
    """Return what to do about a cell that did not run to its end, and lacks a name for that."""
    if cell.code in _REFUSED:
        return cell.advice
    cause = _cause(recognise(cell.error, cell.message), around)
    return cause or cell.advice or say(_LOST[cell.fate][1], name=name)


def _cause(known: KnownError, around: _Around) -> Text:
    """Return what mostly lies behind an error and what to do about it, or nothing."""
    cause = advice_on_import(known, around.preamble) or usual_cause(known, around.layers)
    return cause or advice_on_step(known) or advice_on_python(known)


def _explain_failure(kind: EntryKind, failure: CaptureFailure, around: _Around) -> Problem:
    where, known = _where(failure), recognise(failure.error_name, failure.message)
    if failure.reason == "unsolved" or (
        failure.reason == "raised" and known.kind == "not_implemented"
    ):
        return Problem(_unsolved(failure), REPLACE_STUB, code="unsolved")
    if failure.reason == "raised" and known.kind == "interrupted":
        return Problem(
            say("did-not-return-stopped-when-cell-had", where=where),
            say("look-for-endless-loop-sentence"),
            code="time_limit",
        )
    if failure.reason == "raised":
        return _explain_raised(kind, failure, known, around)
    code: CheckCode = "needs_arguments" if failure.reason == "needs_arguments" else "not_captured"
    reason, hint = _OTHERWISE.get((kind, failure.reason), _FAILURES[failure.reason])
    return Problem(say(reason, where=where, told=failure.message), hint, code=code)


def _explain_raised(
    kind: EntryKind, failure: CaptureFailure, known: KnownError, around: _Around
) -> Problem:
    where, cause = _where(failure), cause_of(known, around.lost, _ANY_CELL)
    if cause is not None:
        hint = _advice(cause.cell, failure.name, around)
        return Problem(_told_following(where, cause), hint, code="unfinished_cell")
    advice = advice_on_loop_variable(failure.loop_variable) or advice_on_refused(failure.refused)
    advice = advice or _cause(known, around)
    mend = _TRY.get(kind, say("call-function-in-cell-own-and-fix"))
    return Problem(_raised(failure, where), advice or mend, code="raised")


_TRY: dict[EntryKind, Text] = {
    "importer": say("call-on-model-of-your-own-and-fix"),
    "pass": say("call-on-model-of-your-own-and-fix"),
}
"""What to do about what is given a model that the student may not have."""


def _where(failure: CaptureFailure) -> Text:
    return say("name-in-code-cell", name=failure.name, cell=failure.cell)


def _unsolved(failure: CaptureFailure) -> Text:
    """Say where a placeholder was met: perhaps in a function that the entry point calls."""
    if failure.line is None:
        return say("not-solved-yet", where=_where(failure))
    place = {"cell": failure.cell, "line": failure.line}
    return say("not-solved-yet-at-line", name=failure.name, **place)


def _raised(failure: CaptureFailure, where: Text) -> Text:
    error, message = failure.error_name, failure.message
    if not message:
        if failure.line is None:
            return say("raised", name=where, error=error)
        return say("raised-at-line", where=where, error=error, line=failure.line)
    if failure.line is None:
        return say("name-raised-error-message", name=where, error=error, message=message)
    return say(
        "where-raised-error-at-line-message",
        where=where,
        error=error,
        line=failure.line,
        message=message,
    )
