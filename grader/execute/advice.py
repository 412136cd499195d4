"""What a student can do about an error that comes from a limit of the sandbox."""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec

from grader.assignment import Limits
from grader.language import in_a_row, say
from grader.loop_variables import advice_on_loop_variable
from grader.preamble import missing_import


class _Advice(msgspec.Struct, frozen=True):
    """`clue` is looked for in "Name: message"."""

    clue: re.Pattern[str]
    sentence: Callable[[Limits], str]


_ADVICE = (
    _Advice(
        re.compile(r"^MemoryError|Cannot allocate memory|can't allocate memory|std::bad_alloc"),
        lambda limits: say(
            "A submission may use {memory_mb} MB of memory: use smaller"
            " arrays, or delete those that you no longer need.",
            memory_mb=limits.memory_mb,
        ),
    ),
    _Advice(
        re.compile(r"No space left on device"),
        lambda limits: say(
            "A submission may write {scratch_mb} MB of files: write less, or"
            " delete what you no longer need.",
            scratch_mb=limits.scratch_mb,
        ),
    ),
    _Advice(
        re.compile(r"File too large"),
        lambda _: say("A file may have 256 MB: write less, or several files."),
    ),
    _Advice(
        re.compile(r"can't start new thread|Resource temporarily unavailable"),
        lambda limits: say(
            "A submission may have {processes} processes and threads at a"
            " time: start fewer, and wait for their end.",
            processes=limits.processes,
        ),
    ),
    _Advice(
        re.compile(r"^ModuleNotFoundError: No module named '\w+'"),
        lambda _: say(
            "This package is not installed where notebooks are graded. Use it to show something"
            " only, and in cells of their own: the other imports of this cell were run."
        ),
    ),
    _Advice(
        re.compile(r"Too many open files"),
        lambda limits: say(
            "{open_files} files may be open at a time: close them.", open_files=limits.open_files
        ),
    ),
    _Advice(
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
    def shown(self) -> str:
        """The files in a row; of a folder only its name."""
        names = dict.fromkeys("/".join(file.split("/")[:-1][:2]) or file for file in self.files)
        return in_a_row(f"`{name}`" for name in names)


_NOT_FOUND = re.compile(
    r"^(?:FileNotFoundError|NotADirectoryError)|Read-only file system"
    r"|^RuntimeError: (?:Dataset not found|Error downloading)"
)

NOTHING_GIVEN = Given()


def advice_for(error: str, message: str, limits: Limits, given: Given = NOTHING_GIVEN) -> str:
    """Return what to do about an error of a cell, empty when nothing here is at work."""
    text = f"{error}: {message}"
    matching = (each.sentence(limits) for each in _ADVICE if each.clue.search(text))
    found = next(matching, "") or missing_import(given.preamble, error, message)
    found = found or advice_on_loop_variable(message)
    if found or not given.files or not _NOT_FOUND.search(text):
        return found
    return say(
        "What the assignment gives is in the folder that the notebook runs in: {files}.",
        files=given.shown,
    )
