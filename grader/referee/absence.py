"""Saying why a part has nothing that could be graded."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from grader.assignment import EntryKind, PartTable
from grader.language import mark, say
from grader.messages import CaptureFailure
from grader.referee.construction import FailedCell, explain_definition, usual_cause
from grader.referee.diagnosis.operations import Layer
from grader.referee.evidence import Problem

_ABSENT: dict[EntryKind, tuple[str, str]] = {
    "function": (
        mark("The notebook defines no function called {entry}."),
        mark(
            "Define {entry}() so that it returns the IRModule. If a cell failed, mend that first."
        ),
    ),
    "module": (
        mark("The notebook has no module called {entry}."),
        mark(
            "Let {entry} be the IRModule (or the PrimFunc) that is asked for. If a cell failed,"
            " mend that first."
        ),
    ),
    "schedule": (
        mark("No schedule was found in the notebook."),
        mark("Make one with {entry} = tvm.s_tir.Schedule(...) of your unscheduled module."),
    ),
    "python": (
        mark("The notebook defines no function called {entry}."),
        mark("Define {entry} as a function of NumPy arrays. If a cell failed, mend that first."),
    ),
    "importer": (
        mark("The notebook defines no function called {entry}."),
        mark(
            "Define {entry}(fx_module, input_shapes) so that it returns the IRModule. If a cell"
            " failed, mend that first."
        ),
    ),
}
"""What is missing, and what to do, by what is looked for."""

_NEEDS = mark("{where} takes arguments that the grader cannot know: {told}")
_NO_ARGUMENTS = mark("Let the function take no arguments, or give them default values.")
_FAILURES: dict[str, tuple[str, str]] = {
    "not_a_module": (
        mark("{where} returned {told}, not an IRModule."),
        mark("End the function with `return bb.get()`."),
    ),
    "needs_arguments": (_NEEDS, _NO_ARGUMENTS),
    "cannot_be_saved": (
        mark("The module that {where} built cannot be saved: {told}"),
        mark("Build it from call_tir, call_dps_packed and constants only."),
    ),
    "extern_not_portable": (
        mark("An external function of {where} cannot be taken over: {told}"),
        mark("Let it use only NumPy, PyTorch and plain values of the notebook."),
    ),
}
"""The same for an entry point of which no module came, by the reason that the kernel gave."""

_OTHERWISE: dict[tuple[EntryKind, str], tuple[str, str]] = {
    ("importer", "needs_arguments"): (
        _NEEDS,
        mark("Let it take the traced model and the list of its input shapes, and nothing else."),
    ),
    ("python", "extern_not_portable"): (
        mark("{where} cannot be taken over: {told}"),
        mark("Let it use only NumPy and plain values of the notebook."),
    ),
}
"""What is said in another way of some kinds of entry points."""


def explain_absence(
    part: PartTable,
    failures: tuple[CaptureFailure, ...],
    failed: Sequence[FailedCell] = (),
    layers: Callable[[], Sequence[Layer]] = tuple,
) -> Problem:
    """Say why a part has no candidate: the entry point's last failure, or that there was none.

    `failed` are the cells that ended in an error: one of them may be the entry point's definition.
    `layers` are PyTorch's for this part, which some causes are tried on.
    """
    if failures:
        return _explain_failure(part.entry_kind, failures[-1], layers)
    lost = explain_definition(part, failed)
    if lost is not None:
        return lost
    reason, hint = _ABSENT[part.entry_kind]
    entry = part.entry[0]
    return Problem(say(reason, entry=entry), say(hint, entry=entry))


def _explain_failure(
    kind: EntryKind, failure: CaptureFailure, layers: Callable[[], Sequence[Layer]]
) -> Problem:
    where = say("{name} (cell {cell})", name=failure.name, cell=failure.cell)
    if failure.reason == "raised" and failure.error_name == "NotImplementedError":
        return Problem(
            say("{where} is not solved yet.", where=where),
            say("Replace the stub by your solution."),
        )
    if failure.reason == "raised":
        cause = usual_cause(failure.error_name, failure.message, layers())
        return Problem(
            _raised(failure, where),
            cause or say("Call the function in a cell of its own and mend the first error."),
        )
    reason, hint = _OTHERWISE.get((kind, failure.reason), _FAILURES[failure.reason])
    return Problem(say(reason, where=where, told=failure.message), say(hint))


def _raised(failure: CaptureFailure, where: str) -> str:
    error, message = failure.error_name, failure.message
    if not message:
        if failure.line is None:
            return say("{where} raised {error}.", where=where, error=error)
        return say(
            "{where} raised {error} at line {line}.", where=where, error=error, line=failure.line
        )
    if failure.line is None:
        return say("{where} raised {error}: {message}", where=where, error=error, message=message)
    return say(
        "{where} raised {error} at line {line}: {message}",
        where=where,
        error=error,
        line=failure.line,
        message=message,
    )
