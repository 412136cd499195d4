"""Errors of cells, made short: the telling line of a message and the line of the cell.

Everything here comes from a student's process and may be anything.
"""

import re
import sys
import sysconfig
import tempfile
from collections.abc import Iterable, Mapping
from itertools import takewhile
from pathlib import Path
from typing import Any

import msgspec

from grader.assignment import Limits
from grader.execute.advice import NOTHING_GIVEN, Given, advice_for, advice_on_loop_variable
from grader.execute.known_errors import recognise
from grader.execute.misfits import advice_on_refused
from grader.execute.result import Raised
from grader.language import NOTHING, Text, join, say
from grader.messages.kernel import LoopVariable, NoteKind
from grader.messages.printed_modules import with_names, with_operators, without_omissions
from grader.report import CellProblem

# Paths of the grading machine are taken out of what a notebook printed: which folders the grader is
# installed in, who runs it and where is nobody's business. The student's own paths stay: what is
# taken out is known by where this process runs, and by how notebooks run.


_COMMON = frozenset({
    "/", "/bin", "/etc", "/home", "/lib", "/mnt", "/opt", "/srv", "/tmp", "/usr", "/usr/local",  # noqa: S108
    "/var", "/var/tmp",  # noqa: S108
})  # fmt: skip
"""Folders of every system: they tell nothing, and students name them too."""

_INSIDE = "/scratch"
"""The folder that notebooks run in, as they see it."""

_PATH = r"[\w.+@~/-]"
_CELL_FILE = re.compile(rf"(?<!{_PATH})/{_PATH}*/ipykernel_\d+/\d+\.py")
_PACKAGES = re.compile(rf"(?<!{_PATH})/{_PATH}*/(?:site|dist)-packages/")
_LIBRARY = re.compile(rf"(?<!{_PATH})/{_PATH}*/lib/python3\.\d+/")
_BOX = re.compile(
    rf"(?<!{_PATH})/{_PATH}*/grader-box-[\w-]{{8}}(?:/scratch|/tmp)?(?:/|(?!{_PATH}))"
)
# Only the start of a path is tried, so that a text of one long word costs linear time.


class PathRedaction:
    """Knows folders of this machine, and takes them out of texts."""

    def __init__(self, folders: Iterable[str | Path]) -> None:
        """`folders` are absolute paths; those that every system has are left alone."""
        known = {str(folder).rstrip("/") for folder in folders} - _COMMON - {"", "."}
        ordered = sorted(known | {_INSIDE}, key=len, reverse=True)
        names = "|".join(map(re.escape, ordered))
        self._known = re.compile(rf"(?<![\w.-])(?:{names})(/|(?![\w-]))")

    def without(self, text: str) -> str:
        """Return a text with paths from these folders on, and an ellipsis for a folder alone.

        A file of a package begins with the package's name; the file of a cell is "the cell".
        """
        text = _PACKAGES.sub("", _CELL_FILE.sub("the cell", text))
        text = _BOX.sub(_rest, _LIBRARY.sub("", text))
        return self._known.sub(_rest, text)


def _rest(match: re.Match[str]) -> str:
    return "" if match[0].endswith("/") else "…"


def own_folders() -> tuple[str | Path, ...]:
    """Return the folders of this process: Python's, the grader's, the user's, the working one."""
    installed = (sys.prefix, sys.exec_prefix, sys.base_prefix, *sysconfig.get_paths().values())
    searched = (folder for folder in sys.path if folder.startswith("/"))
    grader = Path(__file__).resolve().parents[2]
    user = (Path.home(), Path.cwd(), tempfile.gettempdir())
    return (*installed, *searched, Path(sys.executable).parent, grader, *user)


MESSAGE_LENGTH = 300
"""Longest message of a problem, in characters."""

_FRAMES = 100
_FRAME_LENGTH = 20_000
_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_FRAME = re.compile(r"(?:Cell In ?\[(\d{1,6})\], line |File <timed exec>:)(\d{1,6})\b")
_OWN_FILE = re.compile(r"File ~/([\w./-]{1,80}):(\d{1,6})\b")
"""A frame in a file of the working folder, as of `%run` or an import."""
_COMPILED_PLACE = re.compile(r" \([^()\s]+, line \d+\)$")
_PLACES = PathRedaction((sys.prefix, sys.base_prefix))
_ILL_FORMED = re.compile(
    r"\s*(?:error: )?(?P<what>Program is not well-formed)\."
    r"(?:.*?\n\nTraceback: (?:Well-formedness check failed: )?(?P<reason>.*))?",
    re.DOTALL,
)
_INTEGER = re.compile(r"\bT\.int(?:32|64)\((-?\d{1,19})\)")
"""A number as TVM writes it."""
_PRIMITIVE = re.compile(r"schedule primitive '([\w-]+)'")


def cell_problem(
    content: Mapping[str, Any], cell: int, limits: Limits, given: Given = NOTHING_GIVEN
) -> CellProblem:
    """Return the problem that the content of an execute_reply with status "error" tells of.

    `cell` is the number of the cell, which is also its execution count. `given` is what the
    notebook was given, for advice.
    """
    error = _text(content.get("ename"))[:80] or "Error"
    message = _COMPILED_PLACE.sub("", telling_line(_text(content.get("evalue"))))
    traceback = content.get("traceback")
    code, hint = advice_for(recognise(error, message), limits, given)
    return CellProblem(
        cell=cell,
        error=error,
        message=message,
        line=_line_in_cell(traceback, cell),
        hint=hint or _place_in_file(traceback),
        code=code,
    )


def with_refused(
    problem: CellProblem,
    notes: Mapping[tuple[NoteKind, int], LoopVariable | None],
    modules: Mapping[int, bytes],
) -> CellProblem:
    """Return a problem with what belongs in place of a loop's variable, where TVM has refused one,
    or with the calls that do not fit in a module that it has refused.

    `notes` and `modules` are what the kernel says of cells: this is no matter of the error's words.
    """
    advice = advice_on_loop_variable(notes.get(("refused_loop_variable", problem.cell)))
    if advice:
        return msgspec.structs.replace(problem, hint=advice, code="loop_variable")
    advice = advice_on_refused(modules.get(problem.cell, b""))
    if advice:
        return msgspec.structs.replace(problem, hint=advice, code="refused_module")
    return problem


def telling_line(message: str) -> str:
    """Return the line of an error's message that tells most, without machine paths.

    TVM prints a whole module before the reason ("Error message: ..."), its own condition
    source ("Check failed: ... is false: ..."), advice to switch the check off that has found a
    mistake ("Program is not well-formed. If this is deliberate, ..."), or a traceback. At most
    MESSAGE_LENGTH characters.
    """
    message = without_omissions(message)
    _, mark, reason = message.rpartition("Error message: ")
    ill_formed = _ILL_FORMED.match(message)
    if ill_formed is not None:
        reason = _first_line(ill_formed["reason"] or "").removeprefix("Error message: ")
        line = ": ".join(filter(None, (ill_formed["what"], reason)))
    elif mark:
        primitive = _PRIMITIVE.search(message[:1000])
        line = (f"{primitive[1]}: " if primitive else "") + with_names(_first_line(reason), message)
    else:
        _, mark, reason = message.partition(" is false: ")
        line = _first_line(reason) if mark else _plain_line(message)
    line = _INTEGER.sub(r"\1", _PLACES.without(with_operators(line[: 10 * MESSAGE_LENGTH])))
    return line if len(line) <= MESSAGE_LENGTH else line[: MESSAGE_LENGTH - 1] + "…"


def _plain_line(message: str) -> str:
    """Return the first line, or the last where the message is a traceback."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    if not lines:
        return ""
    line = lines[-1] if lines[0].startswith(("Traceback", "Stack trace")) else lines[0]
    return line.removeprefix("error: ")


def _first_line(text: str) -> str:
    """Return the first line of a text, with the list that it announces by a colon."""
    lines = [line.strip() for line in text.strip().splitlines()]
    first = lines[:1]
    if first and first[0].endswith(":"):
        first += takewhile(bool, lines[1:])
    return " ".join(first)


def _line_in_cell(traceback: object, cell: int) -> int | None:
    """Return the line of the innermost frame of this very cell.

    What a magic runs of it, as `%%capture` does, has the number of the next cell, or none.
    """
    found: int | None = None
    for text in _frames(traceback):
        for number, line in _FRAME.findall(text):
            found = int(line) if not number or int(number) >= cell else found
    return found


def raised_elsewhere(content: Mapping[str, Any], cell: int) -> Raised | None:
    """Return where in an earlier cell a function raised that this one calls; None for others.

    What checks a result is right to raise: of assertions nothing is said.
    """
    texts = _frames(content.get("traceback"))
    places = [found for text in texts for found in _FRAME.findall(text)]
    if not places or content.get("ename") == "AssertionError":
        return None
    number, line = places[-1]
    if not number or not 0 < int(number) < cell:
        return None
    return Raised(cell, int(number), int(line))


def with_place(problem: CellProblem, cell: int, line: int, *, is_script: bool) -> CellProblem:
    """Return a problem that tells where in an earlier cell it was raised, by the student's line."""
    at = say("look-at-line-raised-there", line=line)
    told = at if is_script else say("look-at-cell-line-raised-there", cell=cell, line=line)
    return msgspec.structs.replace(problem, hint=join(problem.hint, told))


def _place_in_file(traceback: object) -> Text:
    """Return where in a file of the student's an error was raised; empty for other errors."""
    last = traceback[-2:-1] if isinstance(traceback, list) else []
    found = [_OWN_FILE.match(_text(frame)[:_FRAME_LENGTH]) for frame in last]
    if not found or found[0] is None:
        return NOTHING
    return say("look-at-line", line=int(found[0][2]), file=found[0][1])


def _frames(traceback: object) -> list[str]:
    """Return the texts of the last frames, the innermost last."""
    frames = traceback[-_FRAMES:] if isinstance(traceback, list) else []
    return [_text(each[:_FRAME_LENGTH] if isinstance(each, str) else "") for each in frames]


def _text(value: object) -> str:
    return _ANSI.sub("", value) if isinstance(value, str) else ""
