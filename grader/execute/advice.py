"""What a student can do about an error that comes from a limit of the sandbox."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from grader.assignment import Limits
from grader.environment import missing_import
from grader.execute.known_errors import ErrorKind, KnownError
from grader.execute.schedule_errors import advice_on_step
from grader.language import NOTHING, Text, in_a_row, say
from grader.report import CellCode

_LIMITS: Mapping[ErrorKind, tuple[CellCode, Callable[[Limits], Text]]] = {
    "memory": (
        "memory",
        lambda limits: say(
            "A submission may use {memory_mb} MB of memory: use smaller"
            " arrays, or delete those that you no longer need.",
            memory_mb=limits.memory_mb,
        ),
    ),
    "disk": (
        "disk",
        lambda limits: say(
            "A submission may write {scratch_mb} MB of files: write less, or"
            " delete what you no longer need.",
            scratch_mb=limits.scratch_mb,
        ),
    ),
    "file_size": (
        "file_size",
        lambda _: say("A file may have 256 MB: write less, or several files."),
    ),
    "processes": (
        "processes",
        lambda limits: say(
            "A submission may have {processes} processes and threads at a"
            " time: start fewer, and wait for their end.",
            processes=limits.processes,
        ),
    ),
    "missing_package": (
        "missing_import",
        lambda _: say(
            "This package is not installed where notebooks are graded. Use it to show something"
            " only, and in cells of their own: the other imports of this cell were run."
        ),
    ),
    "descriptors": (
        "descriptors",
        lambda limits: say(
            "{open_files} files may be open at a time: close them.", open_files=limits.open_files
        ),
    ),
    "no_compiler": (
        "no_compiler",
        lambda _: say(
            "TVM needs a C compiler to link a library, and this machine has none. It is not needed"
            " to run a module: use relax.VirtualMachine(executable, tvm.cpu())."
        ),
    ),
    "network": (
        "network",
        lambda _: say(
            "There is no network while a notebook is graded: use the files and"
            " packages that come with the assignment."
        ),
    ),
}
"""What a report calls an error that comes from a limit, and what to do about it."""


class Given(msgspec.Struct, frozen=True):
    """What a notebook is given: `files` by their paths in the working folder, and the imports that
    the assignment's own notebook begins with."""

    files: tuple[str, ...] = ()
    preamble: str = ""

    @property
    def shown(self) -> Text:
        """The files in a row; of a folder only its name."""
        names = dict.fromkeys("/".join(file.split("/")[:-1][:2]) or file for file in self.files)
        return in_a_row(f"`{name}`" for name in names)


NOTHING_GIVEN = Given()


def advice_for(
    known: KnownError, limits: Limits, given: Given = NOTHING_GIVEN
) -> tuple[CellCode, Text]:
    """Return what an error of a cell has to do with, and what to do about it.

    The text says nothing where nothing here is at work.
    """
    if known.kind in _LIMITS:
        code, advice = _LIMITS[known.kind]
        return code, advice(limits)
    step = advice_on_step(known)
    if step:
        return "error", step
    missing = advice_on_import(known, given.preamble)
    if missing:
        return "missing_import", missing
    if not given.files or known.kind != "not_found":
        return "error", NOTHING
    return "given_files", say(
        "What the assignment gives is in the folder that the notebook runs in: {files}.",
        files=given.shown,
    )


def advice_on_import(known: KnownError, preamble: str) -> Text:
    """Return what to do about a name that the preamble would have bound; empty for other errors."""
    return missing_import(preamble, known.names[0]) if known.kind == "undefined_name" else NOTHING
