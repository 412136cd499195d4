"""What a student can do about an error that comes from a limit of the sandbox."""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec

from grader.assignment import Limits
from grader.environment import missing_import
from grader.execute.loop_variables import advice_on_loop_variable
from grader.language import NOTHING, Text, in_a_row, say
from grader.report import CellCode


class _Advice(msgspec.Struct, frozen=True):
    """`clue` is looked for in "Name: message"."""

    code: CellCode
    clue: re.Pattern[str]
    sentence: Callable[[Limits], Text]


_ADVICE = (
    _Advice(
        "memory",
        re.compile(r"^MemoryError|Cannot allocate memory|can't allocate memory|std::bad_alloc"),
        lambda limits: say(
            "A submission may use {memory_mb} MB of memory: use smaller"
            " arrays, or delete those that you no longer need.",
            memory_mb=limits.memory_mb,
        ),
    ),
    _Advice(
        "disk",
        re.compile(r"No space left on device"),
        lambda limits: say(
            "A submission may write {scratch_mb} MB of files: write less, or"
            " delete what you no longer need.",
            scratch_mb=limits.scratch_mb,
        ),
    ),
    _Advice(
        "file_size",
        re.compile(r"File too large"),
        lambda _: say("A file may have 256 MB: write less, or several files."),
    ),
    _Advice(
        "processes",
        re.compile(r"can't start new thread|Resource temporarily unavailable"),
        lambda limits: say(
            "A submission may have {processes} processes and threads at a"
            " time: start fewer, and wait for their end.",
            processes=limits.processes,
        ),
    ),
    _Advice(
        "missing_import",
        re.compile(r"^ModuleNotFoundError: No module named '\w+'"),
        lambda _: say(
            "This package is not installed where notebooks are graded. Use it to show something"
            " only, and in cells of their own: the other imports of this cell were run."
        ),
    ),
    _Advice(
        "descriptors",
        re.compile(r"Too many open files"),
        lambda limits: say(
            "{open_files} files may be open at a time: close them.", open_files=limits.open_files
        ),
    ),
    _Advice(
        "network",
        re.compile(
            r"Network is unreachable|Temporary failure in name resolution|"
            r"Name or service not known|^(?:HTTP|URL)Error|^ConnectionError|"
            r"\[Errno 13\] Permission denied\Z|No matching distribution found"
        ),
        lambda _: say(
            "There is no network while a notebook is graded: use the files and"
            " packages that come with the assignment."
        ),
    ),
)


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


_NOT_FOUND = re.compile(
    r"^(?:FileNotFoundError|NotADirectoryError)|Read-only file system"
    r"|^RuntimeError: (?:Dataset not found|Error downloading)"
)

NOTHING_GIVEN = Given()


def advice_for(
    error: str, message: str, limits: Limits, given: Given = NOTHING_GIVEN
) -> tuple[CellCode, Text]:
    """Return what an error of a cell has to do with, and what to do about it.

    The text says nothing where nothing here is at work.
    """
    text = f"{error}: {message}"
    for each in _ADVICE:
        if each.clue.search(text):
            return each.code, each.sentence(limits)
    missing = missing_import(given.preamble, error, message)
    if missing:
        return "missing_import", missing
    axis = advice_on_loop_variable(message)
    if axis:
        return "loop_variable", axis
    if not given.files or not _NOT_FOUND.search(text):
        return "error", NOTHING
    return "given_files", say(
        "What the assignment gives is in the folder that the notebook runs in: {files}.",
        files=given.shown,
    )
