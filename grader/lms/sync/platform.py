"""What a learning management system knows, whichever it is, and what is asked of it."""

import html
import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Protocol

import msgspec

from grader.gradebook.entries import PartPoints, show
from grader.language import Text, foreign, in_clauses, say
from grader.lms.choices import Key, Platform

PAGE = re.compile(r"feedback-([0-9a-f]{16})(?:-\d+)?\.html")
"""The name of a page there. Canvas adds a number where a name is taken."""


MOST_POINTS = 10**9
Points = Annotated[float, msgspec.Meta(ge=-MOST_POINTS, le=MOST_POINTS)]
"""Points as a system tells them. Decimals cannot be rounded to hundredths from 10^26 on."""


def page_name(key: str) -> str:
    """Return what a page is called, by the digest of what it says."""
    return f"feedback-{key}.html"


# What students are told beside a grade. A comment with a page has no points: those are in the
# gradebook there. By LTI there is no page, and the comment has the points of the parts.

COMMENT = say("feedback-autograder-attached-as-page")

_TAGS = re.compile(r"<[^>]*>")


def plain(text: str) -> str:
    """Return a comment as it is compared: systems put tags around it, and escape what it says."""
    return " ".join(html.unescape(_TAGS.sub(" ", text)).split())


def parts_comment(parts: Iterable[PartPoints], titles: Mapping[str, Text], points: Decimal) -> Text:
    """Return the points of the parts, and whether they are those of the grade."""
    parts = tuple(parts)
    told = in_clauses(
        say(
            "part-points-of-possible",
            part=titles.get(each.id, foreign(each.id)),
            points=show(each.score),
            possible=show(each.max_score),
        )
        for each in parts
    )
    if sum(each.score for each in parts) == points:
        return say("points-by-part", parts=told)
    return say("points-by-part-before-penalties", parts=told)


class LmsFile(msgspec.Struct, frozen=True):
    """A file that was handed in; `url` is empty where it cannot be fetched."""

    name: str
    url: str
    size: int


class LmsPerson(msgspec.Struct, frozen=True):
    """A student of the course. `user` is the system's id of the student, as text.

    `login` and `sid` are what administrators call the student.
    """

    user: str
    name: str
    login: str = ""
    sid: str = ""
    email: str = ""
    groups: tuple[int, ...] = ()


class LmsHandIn(msgspec.Struct, frozen=True):
    """What a student handed in last."""

    user: str
    at: datetime
    files: tuple[LmsFile, ...]
    late: bool | None = None


class Criterion(msgspec.Struct, frozen=True):
    """A row of the rubric there; `ratings` are the points of its levels, by their ids."""

    id: str
    name: str
    points: Decimal
    ratings: Mapping[str, Decimal] = {}


class LmsAssignment(msgspec.Struct, frozen=True):
    """An assignment. `points` is None where it is not graded by points.

    `due` is everybody's, `extended` is that of students with another one. `rubric_decides` says
    that the grade there is the sum of the rubric. `takes_pages` says whether there is room for the
    feedback page. `is_new` says that the first grade makes it.
    """

    name: str
    points: Decimal | None
    due: datetime | None = None
    extended: Mapping[str, datetime] = {}
    rubric: tuple[Criterion, ...] = ()
    rubric_decides: bool = False
    takes_pages: bool = True
    is_new: bool = False


class Standing(msgspec.Struct, frozen=True):
    """What stands there of a student. `points` are None where there is no grade.

    `pages` are the keys of feedback pages, `ratings` the points of the rubric. `remarks` says that
    somebody wrote what a push would replace. `deducted` is what the system itself takes for
    lateness. `policy` is what it calls the status: late, missing, extended or none. `comment` is
    what a push replaces, as `plain` returns it; None where the system keeps comments apart.
    """

    points: Decimal | None = None
    excused: bool = False
    pages: frozenset[str] = frozenset()
    ratings: Mapping[str, Decimal] = {}
    remarks: bool = False
    deducted: Decimal = Decimal(0)
    policy: str = ""
    attempt: int = 0
    comment: str | None = None


class PushedGrade(msgspec.Struct, frozen=True):
    """A grade to write for a student. `page` is the feedback page's key, empty without a page."""

    points: Decimal
    page: str = ""
    ratings: Mapping[str, Decimal] = {}
    comment: str = ""


class LmsGrades(Protocol):
    """The grades of one assignment of a system. All methods raise LmsError.

    `key` is what the system's own ids of users are called, `is_brief` whether `standings` tells
    less than `standing`, `is_loose` whether the system may take a grade and keep another.
    """

    name: Platform
    key: Key
    is_brief: bool
    is_loose: bool

    def assignment(self) -> LmsAssignment:
        """Return what the assignment is."""
        ...

    def people(self) -> tuple[LmsPerson, ...]:
        """Return the students of the course."""
        ...

    def standings(self) -> Mapping[str, Standing]:
        """Return what stands there, by user."""
        ...

    def standing(self, user: str) -> Standing:
        """Return what stands there now of one student."""
        ...

    def write(self, user: str, standing: Standing, grade: PushedGrade, page: bytes) -> None:
        """Write a grade, as one change. Raises UnsureError where it may have been written."""
        ...


class LmsPlatform(LmsGrades, Protocol):
    """One assignment of a system that tells what was handed in, too."""

    def handed_in(self) -> tuple[LmsHandIn, ...]:
        """Return what everybody handed in last."""
        ...

    def download(self, file: LmsFile, target: Path, limit: int) -> None:
        """Write a file that was handed in. Raises TooLargeError."""
        ...
