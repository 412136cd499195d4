"""Saying why a part has nothing that could be graded."""

import itertools
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase

from grader.assignment import EntryKind, PartTable
from grader.diagnosis.construction import Layers, usual_cause
from grader.evidence.case import Problem
from grader.execute.advice import advice_on_import, advice_on_loop_variable, advice_on_python
from grader.execute.known_errors import KnownError, recognise
from grader.execute.misfits import advice_on_refused
from grader.execute.result import LostCell
from grader.language import Text, in_a_row, say
from grader.messages.kernel import CaptureFailure
from grader.report import CheckCode

_ABSENT: dict[EntryKind, tuple[Text, Text]] = {
    "function": (
        say("notebook-defines-no-function-called"),
        say("define-so-that-returns-irmodule-if-cell"),
    ),
    "module": (
        say("notebook-has-no-module-called"),
        say("assign-irmodule-or-primfunc-if-cell-failed"),
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
        say("define-as-function-numpy-arrays-if-cell"),
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

_MADE = re.compile(
    r"^[ \t]*(?:(?:async[ \t]+)?def|class)[ \t]+(\w+)|^[ \t]*(\w+)[ \t]*(?::[^=\n]*)?=(?!=)",
    re.MULTILINE,
)
"""A name that a line binds. The text is a student's, and is not parsed here."""

_REPLACE = say("replace-stub-with-your-solution")

_NAMES = 20_000
"""How many names are looked at; a text that binds more is nobody's solution."""


def explain_absence(
    part: PartTable,
    failures: tuple[CaptureFailure, ...],
    lost: tuple[LostCell, ...] = (),
    preamble: str = "",
    layers: Layers = tuple,
    arguments: tuple[str, ...] = (),
) -> Problem:
    """Say why a part has no candidate: the entry point's last failure, or that there was none.

    The failure of a module under another name is told where there is no other. What stands in a
    cell that is `lost` was made by the student, and is not said to be missing.
    `preamble` are the imports of the assignment's own notebook, `layers` returns PyTorch's layers
    for this part, which some causes of an error are tried on. `arguments` are names of parameters
    that an entry point is given values for.
    """
    named = [each for each in failures if any(fnmatchcase(each.name, one) for one in part.entry)]
    if failures:
        last = (named or failures)[-1]
        if last.reason == "needs_arguments" and part.entry_kind != "importer" and arguments:
            return Problem(
                say(_NEEDS, where=_where(last), told=last.message),
                say(_SUPPLIED, names=in_a_row(arguments)),
                code="needs_arguments",
            )
        return _explain_failure(part.entry_kind, last, preamble, layers)
    for cell, name in itertools.islice(_made(lost), _NAMES):
        if any(fnmatchcase(name, pattern) for pattern in part.entry):
            return _explain_loss(cell, name, preamble, layers)
    reason, hint = _ABSENT[part.entry_kind]
    entry = part.entry[0]
    return Problem(say(reason, entry=entry), say(hint, entry=entry), code="absent")


def _made(lost: tuple[LostCell, ...]) -> Iterator[tuple[LostCell, str]]:
    for cell in lost:
        for match in _MADE.finditer(cell.source):
            yield cell, match[1] or match[2]


_STUB = re.compile(r"^[ \t]*\.\.\.[ \t]*(?:#.*)?$", re.MULTILINE)
"""A line that stands for a solution. TVM's parser refuses it."""


def _explain_loss(cell: LostCell, name: str, preamble: str, layers: Layers) -> Problem:
    if cell.fate == "failed" and _STUB.search(cell.source):
        return Problem(
            say("not-solved-yet", where=say("cell", name=name, cell=cell.cell)),
            _REPLACE,
            code="unsolved",
        )
    reason, hint = _LOST[cell.fate]
    told = say(reason, name=name, cell=cell.cell, error=cell.error, message=cell.message)
    cause = cell.advice or _cause(recognise(cell.error, cell.message), preamble, layers)
    return Problem(told, cause or say(hint, name=name), code="unfinished_cell")


def _cause(known: KnownError, preamble: str, layers: Layers) -> Text:
    """Return what mostly lies behind an error and what to do about it, or nothing."""
    cause = advice_on_import(known, preamble) or usual_cause(known, layers)
    return cause or advice_on_python(known)


def _explain_failure(
    kind: EntryKind, failure: CaptureFailure, preamble: str, layers: Layers
) -> Problem:
    where, known = _where(failure), recognise(failure.error_name, failure.message)
    if failure.reason == "raised" and known.kind == "not_implemented":
        return Problem(say("not-solved-yet", where=where), _REPLACE, code="unsolved")
    if failure.reason == "raised" and known.kind == "interrupted":
        return Problem(
            say("did-not-return-stopped-when-cell-had", where=where),
            say("look-for-endless-loop-sentence"),
            code="time_limit",
        )
    if failure.reason == "raised":
        advice = advice_on_loop_variable(failure.loop_variable)
        advice = advice or advice_on_refused(failure.refused)
        cause = advice or _cause(known, preamble, layers)
        mend = say("call-function-in-cell-own-and-fix")
        return Problem(_raised(failure, where), cause or mend, code="raised")
    code: CheckCode = "needs_arguments" if failure.reason == "needs_arguments" else "not_captured"
    reason, hint = _OTHERWISE.get((kind, failure.reason), _FAILURES[failure.reason])
    return Problem(say(reason, where=where, told=failure.message), hint, code=code)


def _where(failure: CaptureFailure) -> Text:
    return say("cell", name=failure.name, cell=failure.cell)


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
