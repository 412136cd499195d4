"""Every error that the grader raises on purpose.

    GraderError                    anything below; `str(error)` is for a person, `hint` says what
    │                              to do next
    ├── UsageError                 the command or its arguments cannot be served
    ├── CourseError                the course folder or an assignment is not as it should be
    │   └── MistakeError           a file of a course has a mistake: which, in which line
    ├── SubmissionError            the file handed in is not a notebook that can be read
    ├── DataError                  images or parameters are missing or damaged
    ├── GradebookError             the gradebook cannot be opened, read or written
    ├── LmsError                   a learning management system refused, or could not be reached
    ├── SandboxError               no sandbox of the demanded strength can be started
    ├── MachineError               the machine lacks a program or folder that is needed
    ├── DisplacedError             the machine had no memory left for a submission beside others
    ├── ProtocolError              a sandboxed process sent something that is not a message
    └── IRError                    a module's JSON is not a graph that the reader accepts

`SubmissionError`, `ProtocolError` and `IRError` are findings about a submission: the pipeline turns
them into a report. The others mean that nothing could be graded: the command ends with exit code 2.
"""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import Literal

import msgspec

from grader.language import NOTHING, Text, as_text, say


class Told(Exception):  # noqa: N818  it is a base, and caught where it is raised
    """Base of exceptions that stay within a module or two and say why, in a text."""

    def __init__(self, reason: Text) -> None:
        super().__init__(reason)
        self.reason = reason

    def __str__(self) -> str:
        return self.reason.english


class GraderError(Exception):
    """Base of all errors of the grader.

    `message` says what happened, `hint` what to do next; words of no message file are shown
    to a person as they are.
    """

    def __init__(self, message: Text, hint: Text = NOTHING) -> None:
        super().__init__(message, hint)
        # Nobody checks the types of a course's oracle.py: its plain words are said as they are.
        self.message = as_text(message)
        self.hint = as_text(hint)
        # Of who calls from Python: with these a traceback ends, from Python 3.11 on.
        self.__notes__ = [self.hint.english] if self.hint else []

    def __str__(self) -> str:
        return self.message.english


class UsageError(GraderError):
    """Raised when a command's arguments name something that does not exist or does not fit."""


class CourseError(GraderError):
    """Raised when a course folder or an assignment in it cannot be loaded."""


MistakeCode = Literal[
    "argument_unused",
    "cases_mixed",
    "check_declared",
    "check_options",
    "check_outcome",
    "check_unknown",
    "check_untitled",
    "differs",
    "file_missing",
    "folder_name",
    "function_missing",
    "given",
    "import_failed",
    "inputs",
    "model",
    "mutant",
    "no_array",
    "not_diagnosed",
    "not_finite",
    "not_run",
    "part",
    "precision",
    "python_syntax",
    "raises",
    "shape",
    "signature",
    "toml",
    "variants",
    "workload_script",
]
"""What an instructor can get wrong; docs/authoring.md says which file each is about.

A code is not the id of a sentence, because it has several: `toml` has one for each damage.
"""


class Mistake(msgspec.Struct, frozen=True):
    """A mistake in a file of a course: which file, which line of it (from 1), if known.

    `problem` says what is wrong, `hint` what to do. A warning is for a person to judge: an
    assignment with an error cannot be graded.
    """

    code: MistakeCode
    path: Path
    line: int | None
    problem: Text
    hint: Text
    severity: Literal["error", "warning"] = "error"

    @property
    def place(self) -> str:
        """File and line as editors read them."""
        return str(self.path) if self.line is None else f"{self.path}:{self.line}"


class MistakeError(CourseError):
    """Raised for a mistake that an instructor has made in a file of the course."""

    def __init__(self, mistake: Mistake) -> None:
        place = mistake.place
        super().__init__(say("place-problem", place=place, problem=mistake.problem))
        self.mistake = mistake
        self.hint = mistake.hint

    def __reduce__(self) -> tuple[type[MistakeError], tuple[Mistake]]:
        """Pickle by the mistake: a pool of processes hangs at an error that it cannot unpickle."""
        return type(self), (self.mistake,)


def told_failure(error: BaseException) -> str:
    """Return what failed and where, for whoever mends the grader: "TypeError at grader/a.py:12".

    What happens once in a hundred runs does not come again because somebody asks for its traceback.
    """
    frames = traceback.extract_tb(error.__traceback__)
    package = Path(__file__).parent
    own = [each for each in frames if Path(each.filename).is_relative_to(package)]
    if not own:
        return type(error).__name__
    place = Path(own[-1].filename).relative_to(package.parent)
    return f"{type(error).__name__} at {place}:{own[-1].lineno}"


class SubmissionError(GraderError):
    """Raised when a submission is not a notebook that can be read."""


class DataError(GraderError):
    """Raised when images or parameters are missing, damaged or of an unknown checksum."""


class GradebookError(GraderError):
    """Raised when a gradebook is missing, damaged, out of reach or of a later version."""


class LmsError(GraderError):
    """Raised when a learning management system refuses a request, or cannot be reached."""


class SandboxError(GraderError):
    """Raised when a sandbox cannot be started on this machine."""


class MachineError(GraderError):
    """Raised when the machine lacks something: a folder for temporary files, or a program for want
    of which a submission lost points.
    """


class DisplacedError(GraderError):
    """Raised when a submission was ended for memory that others may have taken: nothing is known of
    it, and it has to be graded again.
    """


class ProtocolError(GraderError):
    """Raised when bytes from a sandboxed process are not the message that was asked for."""


class IRError(GraderError):
    """Raised when a captured module is not a graph that the reader accepts."""
