"""Canvas by its REST API, through `canvasapi`: paging, nested parameters and uploads are its work.

It gets a session of ours in place of its own, and no token: it knows no limits and no second try,
and follows what a server says. What comes back is decoded strictly, not by its objects, which take
any field that a server names for an attribute.
"""

import tempfile
from collections.abc import Iterator, Mapping
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
from canvasapi.paginated_list import PaginatedList
from canvasapi.requester import Requester
from canvasapi.upload import Uploader
from canvasapi.util import combine_kwargs

from grader.lms.choices import Key, Platform
from grader.lms.sync.platform import (
    PAGE,
    Criterion,
    LmsAssignment,
    LmsFile,
    LmsHandIn,
    LmsPerson,
    Points,
    PushedGrade,
    Standing,
    page_name,
)
from grader.lms.sync.session import LmsSession, Told, decoded, unreadable

_POINTS = frozenset({"points", "percent", "letter_grade", "gpa_scale"})
"""Kinds of grades for which Canvas takes points. `pass_fail` is none of them."""


_MOST = 100_000
"""People and submissions of a course."""


class _Row:
    """An object of the API as it came. `canvasapi` makes one of each element of a listing."""

    def __init__(self, requester: object, attributes: dict[str, Any]) -> None:
        del requester
        self.fields = attributes


class _Rating(msgspec.Struct, frozen=True):
    id: str
    points: Points


class _Criterion(msgspec.Struct, frozen=True):
    id: str
    points: Points
    description: str = ""
    ratings: tuple[_Rating, ...] = ()


class _Override(msgspec.Struct, frozen=True):
    student_ids: tuple[int, ...] = ()
    due_at: datetime | None = None


class _Assignment(msgspec.Struct, frozen=True):
    name: str
    points_possible: Points | None = None
    grading_type: str = "points"
    due_at: datetime | None = None
    rubric: tuple[_Criterion, ...] | None = None
    use_rubric_for_grading: bool | None = None
    overrides: tuple[_Override, ...] = ()


class _User(msgspec.Struct, frozen=True):
    id: int
    name: str | None = None
    sis_user_id: str | None = None
    login_id: str | None = None
    email: str | None = None


class _File(msgspec.Struct, frozen=True):
    id: int
    display_name: str | None = None
    filename: str | None = None
    url: str | None = None
    size: int | None = None


class _Comment(msgspec.Struct, frozen=True):
    author_id: int | None = None
    attachments: tuple[_File, ...] | None = None


class _Assessed(msgspec.Struct, frozen=True):
    points: Points | None = None


class _Submission(msgspec.Struct, frozen=True):
    user_id: int
    attempt: int | None = None
    submitted_at: datetime | None = None
    late: bool | None = None
    excused: bool | None = None
    late_policy_status: str | None = None
    score: Points | None = None
    entered_score: Points | None = None
    points_deducted: Points | None = None
    attachments: tuple[_File, ...] | None = None
    submission_comments: tuple[_Comment, ...] | None = None
    rubric_assessment: dict[str, _Assessed] | None = None


class CanvasPlatform:
    """One assignment of Canvas."""

    name: Platform = "canvas"
    key: Key = "canvas"
    is_brief = False
    is_loose = False

    def __init__(self, session: LmsSession, course: int, assignment: int) -> None:
        self._session = session
        self._requester = Requester(session.site, "")
        self._requester._session = session
        self._course = f"courses/{course}"
        self._place = f"{self._course}/assignments/{assignment}"
        self._user_ids = {"include": ["submission_comments", "rubric_assessment"]}

    def assignment(self) -> LmsAssignment:
        """Return what the assignment is."""
        found = self._one(_Assignment, self._place, include=["overrides"])
        graded = found.grading_type in _POINTS and found.points_possible is not None
        return LmsAssignment(
            found.name,
            _exact(found.points_possible) if graded else None,
            found.due_at,
            {
                str(user): each.due_at
                for each in found.overrides
                for user in each.student_ids
                if each.due_at is not None
            },
            tuple(map(_criterion, found.rubric or ())),
            bool(found.use_rubric_for_grading),
        )

    def people(self) -> tuple[LmsPerson, ...]:
        """Return the students of the course; the trial student is of another type."""
        rows = self._all(
            _User,
            f"{self._course}/users",
            enrollment_type=["student"],
            enrollment_state=["active", "invited", "completed"],
            include=["email"],
        )
        return tuple(
            LmsPerson(str(e.id), e.name or "", e.login_id or "", e.sis_user_id or "", e.email or "")
            for e in {each.id: each for each in rows}.values()
        )

    def handed_in(self) -> tuple[LmsHandIn, ...]:
        """Return everybody's latest attempt."""
        return tuple(
            LmsHandIn(
                str(each.user_id),
                each.submitted_at,
                tuple(map(_file, each.attachments or ())),
                each.late,
            )
            for each in self._submissions()
            if each.submitted_at is not None
        )

    def download(self, file: LmsFile, target: Path, limit: int) -> None:
        """Write a file that was handed in."""
        self._session.download(file.url, target, limit)

    def standings(self) -> Mapping[str, Standing]:
        """Return what stands there, by user."""
        return {str(each.user_id): _standing(each) for each in self._submissions()}

    def standing(self, user: str) -> Standing:
        """Return what stands there now of one student."""
        return _standing(self._one(_Submission, self._of(user), **self._user_ids))

    def write(self, user: str, standing: Standing, grade: PushedGrade, page: bytes) -> None:
        """Write points, ratings and the comment with its page by one request.

        A page that was sent and never mentioned, as one is after a crash, nobody sees.
        """
        what: dict[str, Any] = {}
        if grade.points != standing.points:
            what["submission"] = {"posted_grade": format(grade.points, "f")}
        if grade.ratings:
            what["rubric_assessment"] = {
                key: {"points": format(points, "f")} for key, points in grade.ratings.items()
            }
        if grade.page and grade.page not in standing.pages:
            sent = self._send_page(user, page_name(grade.page), page)
            what["comment"] = {"text_comment": grade.comment, "file_ids": [sent]}
            if standing.attempt:
                what["comment"]["attempt"] = standing.attempt
        self._requester.request("PUT", self._of(user), _kwargs=combine_kwargs(**what))

    def _send_page(self, user: str, name: str, page: bytes) -> int:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, name)
            path.write_bytes(page)
            try:
                sender = Uploader(self._requester, f"{self._of(user)}/comments/files", path)
                _, told = sender.start()
                return decoded(told, _File).id
            except (ValueError, KeyError, TypeError, AttributeError):
                raise unreadable() from None

    def _of(self, user: str) -> str:
        return f"{self._place}/submissions/{user}"

    def _submissions(self) -> Iterator[_Submission]:
        yield from self._all(_Submission, f"{self._place}/submissions", **self._user_ids)

    def _one(self, kind: type[Told], path: str, **what: Any) -> Told:
        answer = self._requester.request("GET", path, _kwargs=combine_kwargs(**what))
        return decoded(answer.json(), kind)

    def _all(self, kind: type[Told], path: str, **what: Any) -> Iterator[Told]:
        found = PaginatedList(_Row, self._requester, "GET", path, _kwargs=combine_kwargs(**what))
        try:
            for number, row in enumerate(found):
                if number == _MOST:
                    raise unreadable()
                yield decoded(row.fields, kind)
        except (AttributeError, TypeError, KeyError):  # of a page that is no list of objects
            raise unreadable() from None


def _exact(points: float | None) -> Decimal:
    return Decimal(0) if points is None else Decimal(repr(points))


def _criterion(each: _Criterion) -> Criterion:
    ratings = {rating.id: _exact(rating.points) for rating in each.ratings}
    return Criterion(each.id, each.description, _exact(each.points), ratings)


def _file(each: _File) -> LmsFile:
    return LmsFile(each.display_name or each.filename or "", each.url or "", each.size or 0)


def _standing(each: _Submission) -> Standing:
    """Return what stands there; a page that the student attached to a comment is none of ours."""
    points = each.score if each.entered_score is None else each.entered_score
    names = (
        file.display_name or file.filename or ""
        for comment in each.submission_comments or ()
        if comment.author_id != each.user_id
        for file in comment.attachments or ()
    )
    return Standing(
        None if points is None else _exact(points),
        bool(each.excused),
        frozenset(match[1] for name in names if (match := PAGE.fullmatch(name))),
        {
            key: _exact(rated.points)
            for key, rated in (each.rubric_assessment or {}).items()
            if rated.points is not None
        },
        deducted=_exact(each.points_deducted),
        policy=each.late_policy_status or "",
        attempt=each.attempt or 0,
    )
