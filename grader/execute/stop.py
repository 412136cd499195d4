"""Why a notebook was ended before its last cell, and what the student reads about it."""

import signal
from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from grader.assignment import Limits
from grader.execute.advice import advice_on_loop_variable
from grader.inside.launcher.protocol import Cause
from grader.language import NOTHING, Text, in_a_row, join, say
from grader.messages.kernel import LoopVariable, NoteKind

OUTPUT_CELLS = 4
"""All cells together may print as much as this many cells at their limit."""

CAPTURE_DAMAGE = say("notebook-wrote-own-data-where-grader-expects")


class Stop(msgspec.Struct, frozen=True):
    """What ended the notebook in a cell.

    `status` is the exit status of a kernel that died, `cause` the bound of the sandbox that ended
    it, if one did. What was "outside" of it is nothing to be told: it has to be graded again.
    `is_end` is false where only the cell was ended, and the kernel went on with the next;
    `is_left_out` says that the notebook was run again without this cell.
    """

    kind: Literal["died", "cell_time", "notebook_time", "output", "message"]
    status: int = 0
    cause: Cause = ""
    is_end: bool = True
    is_left_out: bool = False

    @property
    def is_accident(self) -> bool:
        """Whether it came of one cell's code: native code that ended Python or did not end, or took
        too much memory. Nobody writes that to end a notebook, as `exit()` is written.
        """
        if self.kind == "died":
            return self.cause == "memory" or (self.status in _CRASHES and not self.cause)
        return self.kind == "cell_time"


_CRASHES = frozenset(
    128 + each
    for each in (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL)
)

_NOTES: dict[NoteKind, Text] = {
    "cut": say("output-cut-cell-cell-keeps-mb-all"),
    "asked": say("notebook-asked-for-input-cell-nobody-answers"),
    "restarted": say("notebook-asked-restart-kernel-cell-continued"),
    "loop_variable": say("block-uses-loop-variable-where-needs-axis"),
    "drawn": say("notebook-asked-for-window-or-widget-cell"),
}

_CELLS_NAMED = 5


def describe_notes(
    notes: Mapping[tuple[NoteKind, int], LoopVariable | None], cells: int, limits: Limits
) -> tuple[Text, ...]:
    """Return what the kernel did for the notebook's sake, a sentence for each kind.

    `notes` are what a student's process says of cells, with the loop's variable that
    one is about; it has run so many.
    """
    sentences = []
    for kind, text in _NOTES.items():
        told = sorted({cell for each, cell in notes if each == kind and 0 < cell <= cells})
        if told:
            all_mb = OUTPUT_CELLS * limits.output_mb
            done = say(text, where=_where(told), output_mb=limits.output_mb, all_mb=all_mb)
            sentences.append(join(done, advice_on_loop_variable(notes[kind, told[0]])))
    return tuple(sentences)


def _where(cells: Sequence[int]) -> Text:
    if len(cells) == 1:
        return say("one-code-cell", cell=cells[0])
    named = [str(cell) for cell in cells[:_CELLS_NAMED]]
    row = in_a_row([*named, "…"] if len(cells) > _CELLS_NAMED else named)
    return say("several-code-cells", cells=row)


def describe_stop(stop: Stop, cell: int, cells: int, limits: Limits) -> Text:
    """Return what happened, which cells were not run, and what to do next."""
    happened, advice = _happened(stop, cell, limits)
    left_out = _left_out(cell, cells) if stop.is_end else NOTHING
    if stop.is_left_out:
        left_out = _RUN_AGAIN
    return join(happened, left_out, advice)


_Told = tuple[Text, Text]
"""What happened and what to do; values are filled in when the text is shown."""

_STOPS: Mapping[str, _Told] = {
    "cell_time": (
        say("cell-ran-longer-than-seconds-and-stopped"),
        say("look-for-endless-loop-or-let-work"),
    ),
    "notebook_time": (
        say("notebook-ran-longer-than-seconds-and-stopped"),
        say("shorten-or-remove-slowest-cells"),
    ),
    "output": (
        say("notebook-stopped-in-cell-because-printed-too"),
        say("print-less-for-example-only-first-few"),
    ),
    "other": (
        say("cell-sent-something-that-not-jupyter-message"),
        say("do-not-use-kernels-own-connection"),
    ),
}

_EXCESSES: Mapping[Cause, _Told] = {
    "memory": (
        say("cell-used-more-than-mb-memory"),
        say("use-smaller-arrays-or-delete-those"),
    ),
    "files": (
        say("cell-created-more-than-files-and-notebook"),
        say("write-fewer-files-or-delete-those"),
    ),
    "disk": (
        say("cell-wrote-more-than-mb-files"),
        say("write-less-or-delete-what-you"),
    ),
    "descriptors": (
        say("cell-had-more-files-open-than-allowed"),
        say("close-files-pipes-and-sockets-or-start"),
    ),
    "machine": (
        say("cell-took-nearly-all-memory-that-machine"),
        say("use-smaller-arrays-or-delete-those"),
    ),
    "processes": (
        say("cell-started-more-than-processes-and-threads"),
        say("start-fewer-and-wait-for-their-end"),
    ),
}

_DEATHS: Mapping[int, _Told] = {
    128 + signal.SIGSEGV: (
        say("cell-ended-python-process-with-segmentation-fault"),
        say("look-for-index-out-range-or-missing"),
    ),
    128 + signal.SIGILL: (
        say("cell-ended-python-process-used-instruction"),
        say("compile-for-tvm-target-from-device-cpu"),
    ),
    128 + signal.SIGKILL: (
        say("cell-ended-python-process-killed-most-likely"),
        say("use-smaller-arrays-or-delete-those"),
    ),
    128 + signal.SIGABRT: (
        say("cell-ended-python-process-library-gave-up"),
        say("run-cell-on-your-own-machine"),
    ),
    128 + signal.SIGXCPU: (
        say("cell-ended-python-process-because-used-too"),
        say("look-for-endless-loop"),
    ),
}
"""By the exit status of Python's process."""

_ENDED: _Told = (
    say("cell-ended-python-process-exit-status"),
    say("remove-exit-quit-and-os-exit"),
)


_RUN_AGAIN = say("notebook-run-again-without-this-cell")


def _happened(stop: Stop, cell: int, limits: Limits) -> _Told:
    if stop.cause:
        what, advice = _EXCESSES[stop.cause]
    elif stop.kind == "died":
        what, advice = _DEATHS.get(stop.status, _ENDED)
    else:
        what, advice = _STOPS.get(stop.kind, _STOPS["other"])
    told = say(
        what,
        cell=cell,
        status=stop.status,
        all_mb=OUTPUT_CELLS * limits.output_mb,
        descriptors=limits.resources().descriptors,
        **msgspec.structs.asdict(limits),
    )
    return told, advice


def _left_out(cell: int, cells: int) -> Text:
    if cell == cells:
        return NOTHING
    if cell + 1 == cells:
        return say("cell-not-run", cells=cells)
    return say("cells-not-run", first=cell + 1, cells=cells)
