"""Why a notebook was ended before its last cell, and how that is told to the student."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from typing import Literal

import msgspec

from grader.assignment import Limits
from grader.execute.loop_variables import advice_on_loop_variable
from grader.inside.launcher.protocol import Cause
from grader.language import NOTHING, Text, in_a_row, join, say
from grader.messages import LoopVariable, NoteKind

OUTPUT_CELLS = 4
"""All cells together may print as much as this many cells at their limit."""

CAPTURE_DAMAGE = say(
    "The notebook wrote its own data where the grader expects modules. Only earlier modules "
    "are graded."
)


class Stop(msgspec.Struct, frozen=True):
    """What ended the notebook in a cell.

    `status` is the exit status of a kernel that died, `cause` the bound of the sandbox that ended
    it, if one did. What was "outside" of it is nothing to be told: it has to be graded again.
    `is_end` is false where only the cell was ended, and the kernel went on with the next.
    """

    kind: Literal["died", "cell_time", "notebook_time", "output", "message"]
    status: int = 0
    cause: Cause = ""
    is_end: bool = True


_NOTES: dict[NoteKind, Text] = {
    "cut": say(
        "Output was cut (cell {cells}): a cell keeps {output_mb:g} MB, all cells together "
        "{all_mb:g} MB. This costs no points."
    ),
    "asked": say(
        "The notebook asked for input (cell {cells}). Nobody answers while it is graded: it "
        "got an empty line."
    ),
    "restarted": say(
        "The notebook asked to restart its kernel (cell {cells}). It continued in the same one."
    ),
    "loop_variable": say(
        "A block uses a loop variable where it needs an axis (cell {cells}). Current TVM "
        "refuses this; it was run as earlier versions did, and graded on its result."
    ),
    "drawn": say(
        "The notebook asked for a window or widget (cell {cells}). It was drawn into the "
        "notebook instead."
    ),
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
            named = [str(cell) for cell in told[:_CELLS_NAMED]]
            row = in_a_row([*named, "…"] if len(told) > _CELLS_NAMED else named)
            all_mb = OUTPUT_CELLS * limits.output_mb
            done = say(text, cells=row, output_mb=limits.output_mb, all_mb=all_mb)
            sentences.append(join(done, advice_on_loop_variable(notes[kind, told[0]])))
    return tuple(sentences)


def describe_stop(stop: Stop, cell: int, cells: int, limits: Limits) -> Text:
    """Return what happened, which cells were not run, and what to do next."""
    happened, advice = _happened(stop, cell, limits)
    left_out = _left_out(cell, cells) if stop.is_end else NOTHING
    return join(happened, left_out, advice)


_Told = tuple[Text, Text]
"""What happened and what to do, which are given their values when they are told."""

_STOPS: Mapping[str, _Told] = {
    "cell_time": (
        say(
            "Cell {cell} ran longer than {cell_seconds:g} seconds and was stopped.",
        ),
        say("Look for an endless loop, or let it work on less data."),
    ),
    "notebook_time": (
        say(
            "The notebook ran longer than {notebook_seconds:g} seconds and was"
            " stopped in cell {cell}.",
        ),
        say("Shorten or remove the slowest cells."),
    ),
    "output": (
        say(
            "The notebook was stopped in cell {cell}, because it printed too"
            " much: {output_mb:g} MB are allowed for a cell, {all_mb:g} MB for"
            " all cells together.",
        ),
        say("Print less, for example only the first few values."),
    ),
    "other": (
        say(
            "Cell {cell} sent something that is not a Jupyter message, and the"
            " notebook was stopped.",
        ),
        say("Do not use the kernel's own connection."),
    ),
}

_EXCESSES: Mapping[Cause, _Told] = {
    "memory": (
        say(
            "Cell {cell} used more than {memory_mb} MB of memory, and the notebook was stopped.",
        ),
        say("Use smaller arrays, or delete those that you no longer need."),
    ),
    "files": (
        say(
            "Cell {cell} created more than {files} files, and the notebook was stopped.",
        ),
        say("Write fewer files, or delete those that you no longer need."),
    ),
    "disk": (
        say(
            "Cell {cell} wrote more than {scratch_mb} MB of files, and the notebook was stopped.",
        ),
        say("Write less, or delete what you no longer need."),
    ),
    "descriptors": (
        say(
            "Cell {cell} had more files open than the {descriptors} allowed for all processes"
            " together, and the notebook was stopped.",
        ),
        say("Close files, pipes and sockets, or start fewer processes."),
    ),
    "machine": (
        say(
            "Cell {cell} took nearly all the memory that the machine had left, and the"
            " notebook was stopped.",
        ),
        say("Use smaller arrays, or delete those that you no longer need."),
    ),
    "processes": (
        say(
            "Cell {cell} started more than {processes} processes and threads,"
            " and the notebook was stopped.",
        ),
        say("Start fewer, and wait for their end."),
    ),
}

_DEATHS: Mapping[int, _Told] = {
    128 + signal.SIGSEGV: (
        say("Cell {cell} ended the Python process with a segmentation fault."),
        say("Look for an index out of range, or a missing function, in code that TVM compiled."),
    ),
    128 + signal.SIGILL: (
        say(
            "Cell {cell} ended the Python process: it used an instruction that this processor"
            " does not have.",
        ),
        say(
            'Compile for tvm.target.Target.from_device("cpu") or for "llvm", without the name'
            " of a processor (mcpu)."
        ),
    ),
    128 + signal.SIGKILL: (
        say(
            "Cell {cell} ended the Python process: it was killed, most likely for using too "
            "much memory.",
        ),
        say("Use smaller arrays, or delete those that you no longer need."),
    ),
    128 + signal.SIGABRT: (
        say(
            "Cell {cell} ended the Python process: a library gave up, often for want of memory.",
        ),
        say("Run the cell on your own machine and read what is printed in the terminal."),
    ),
    128 + signal.SIGXCPU: (
        say(
            "Cell {cell} ended the Python process, because it used too much processor time.",
        ),
        say("Look for an endless loop."),
    ),
}
"""By the exit status of Python's process."""

_ENDED: _Told = (
    say("Cell {cell} ended the Python process (exit status {status})."),
    say("Remove exit(), quit() and os._exit()."),
)


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
        cell_seconds=limits.cell_seconds,
        notebook_seconds=limits.notebook_seconds,
        output_mb=limits.output_mb,
        all_mb=OUTPUT_CELLS * limits.output_mb,
        memory_mb=limits.memory_mb,
        files=limits.files,
        scratch_mb=limits.scratch_mb,
        descriptors=limits.resources().descriptors,
        processes=limits.processes,
    )
    return told, advice


def _left_out(cell: int, cells: int) -> Text:
    if cell == cells:
        return NOTHING
    if cell + 1 == cells:
        return say("Cell {cells} was not run.", cells=cells)
    return say("Cells {first} to {cells} were not run.", first=cell + 1, cells=cells)
