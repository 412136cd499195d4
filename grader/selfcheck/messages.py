"""What the kernel and the process that checks say to each other, one answer to each request.

kernel ──FindAssignment──▶ checker ──AssignmentCard | Refused──▶ kernel
kernel ──CheckParts──▶ checker ──Checked | Refused──▶ kernel
"""

import msgspec

from grader.language import NOTHING, Text
from grader.messages.frames import Message
from grader.messages.kernel import EntrySpec, FromKernel
from grader.report import Part

FRAME_LIMIT = 2**30
"""Largest frame in either direction, in bytes: all captures of a check travel in one."""


class FindAssignment(Message, frozen=True):
    """Ask for an assignment of the course: `slug`, or the one that the notebook is of.

    `course` names its folder; without it the course is looked for in and above `folder`.
    `notebook` is the notebook's file, where that is known: its metadata say which assignment it is
    and in which `language` to answer. Without them it is the assignment that has `part`, where that
    is given, and whose entry points are among `names`, the notebook's public names.
    """

    folder: str
    names: tuple[str, ...]
    course: str | None = None
    slug: str | None = None
    language: str | None = None
    part: str | None = None
    notebook: str | None = None


class PartCard(msgspec.Struct, frozen=True):
    """A part as a student asks for it, and what the capture is to look for on its behalf."""

    entry: EntrySpec
    title: str
    points: float

    @property
    def id(self) -> str:
        """Return the part's id."""
        return self.entry.part


class AssignmentCard(Message, frozen=True):
    """An assignment's parts, in order."""

    slug: str
    title: str
    language: str
    parts: tuple[PartCard, ...]


class CheckParts(Message, frozen=True):
    """Judge these parts of the assignment that was found last, and answer in a language."""

    parts: tuple[str, ...]
    captures: tuple[FromKernel, ...]
    language: str


class Checked(Message, frozen=True):
    """The parts as a report has them, and what else the student is to know.

    `undecided` are the points of checks that are made only when a submission is graded. `left_out`
    says what was not checked, `compared` on what data and behind which isolation the others were.
    """

    title: str
    language: str
    parts: tuple[Part, ...]
    undecided: float
    left_out: tuple[Text, ...]
    compared: tuple[Text, ...]


class Refused(Message, frozen=True):
    """Why there is no answer, and what to do next: to be said in a language, if that is known."""

    message: Text
    hint: Text = NOTHING
    language: str | None = None


ToChecker = FindAssignment | CheckParts
FromChecker = AssignmentCard | Checked | Refused
