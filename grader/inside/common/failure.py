"""An error of a task, and its way into the message that the referee gets."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from traceback import extract_tb
from typing import Literal, TypeVar

from grader.messages.runner import FailureCode, TaskFailure, Violation

Answer = TypeVar("Answer")
Stage = Literal["decode", "load", "build", "externs", "signature", "run", "time"]

COURSE_FILES = ("workload.py", "library.py")
"""Under these names a course's own texts are compiled."""

MESSAGE_LIMIT = 500
"""Longest message of a failure, in characters."""

_ESCAPES = re.compile(r"\x1b\[[0-9;]*m")
_CUTS = re.compile(
    r"\n?(Stack trace:|Traceback \(most recent call last\)|Extra details from).*", re.S
)
_TIME = re.compile(r"^\[\d\d:\d\d:\d\d\] ", re.M)
_FRAME = re.compile(r'^ *File ".*', re.M)
_PATH = re.compile(r"(?<![\w.])(?:/[\w.+@~-]+)+/([\w.+@~-]+)")


class TaskError(Exception):
    """Raised when a task cannot be done: `stage` says where, `code` and `message` say why.

    `violation` is what a guard has prevented, `raised` the text of an error of a student's own,
    `error` the class of what was "Raised".
    """

    def __init__(
        self,
        stage: Stage,
        code: FailureCode,
        message: str,
        violation: Violation | None = None,
        raised: str | None = None,
        error: str = "",
    ) -> None:
        super().__init__(message)
        self.stage = stage
        self.code = code
        self.message = message
        self.violation = violation
        self.raised = raised
        self.error = error

    @property
    def error_name(self) -> str:
        """What it is called where it is told: the code, or the class of what was raised."""
        return self.error or self.code

    def as_failure(self) -> TaskFailure:
        """Return the message for the referee."""
        message, error = shorten(self.message), self.error[:100]
        raised = None if self.raised is None else shorten(self.raised)
        return TaskFailure(self.stage, self.code, message, self.violation, raised, error)


def raised_in(stage: Stage, error: Exception) -> TaskError:
    """Return the error of a task in which another was raised; a course's own names its line."""
    message = f"{_place(error)}{error}"
    return TaskError(stage, "Raised", message, error=type(error).__name__)


def _place(error: Exception) -> str:
    """Return the line of the course's file that an error comes from, "" where there is none."""
    frames = [each for each in extract_tb(error.__traceback__) if each.filename in COURSE_FILES]
    return f"{frames[-1].filename}, line {frames[-1].lineno}: " if frames else ""


@contextmanager
def stage(name: Stage) -> Iterator[None]:
    """Turn any error raised within into a TaskError of this stage; a TaskError stays as it is."""
    try:
        yield
    except TaskError:
        raise
    except Exception as error:
        raise raised_in(name, error) from error


def answering_for_errors(perform: Callable[[], Answer]) -> Answer | TaskFailure:
    """Do a task; whatever goes wrong becomes a TaskFailure."""
    try:
        return perform()
    except TaskError as error:
        return error.as_failure()
    except Exception as error:  # noqa: BLE001 - an answer says more than a runner that has died
        return raised_in("run", error).as_failure()


def shorten(message: str) -> str:
    """Return a message on one line and of bounded length, without folders and stack traces."""
    text = _ESCAPES.sub("", message)
    text = _CUTS.sub("", text) or text
    text = _PATH.sub(r"\1", _FRAME.sub("", _TIME.sub("", text)))
    text = " ".join(text.split())
    return text if len(text) <= MESSAGE_LIMIT else text[: MESSAGE_LIMIT - 1] + "…"
