"""Any other system by LTI Advantage: grades (AGS 2.0) and names and roles (NRPS 2.0).

A column of the gradebook there is a line item: the one that this assignment was given before, one
that somebody names, or a new one. A score that is posted twice is the same score. What a system
tells of grades are its results: those are compared.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit, urlunsplit

import msgspec

from grader.course_settings import LtiSettings
from grader.errors import LmsError, UsageError
from grader.language import in_a_row, say
from grader.lms.choices import Key, Platform
from grader.lms.sync.platform import (
    MOST_POINTS,
    LmsAssignment,
    LmsPerson,
    PushedGrade,
    Standing,
    plain,
)
from grader.lms.sync.push import scaled
from grader.lms.sync.session import Answer, LmsSession, RefusedError, Told, decoded, unreadable

TAG = "tvm-grader"
"""Of the line items that are made here. Their `resourceId` is the assignment's slug."""

_PER_PAGE = "100"
_MOST = 100_000
"""People, results and line items of a course."""

_ITEM = "application/vnd.ims.lis.v2.lineitem+json"
_ITEMS = "application/vnd.ims.lis.v2.lineitemcontainer+json"
_RESULTS = "application/vnd.ims.lis.v2.resultcontainer+json"
_SCORE = "application/vnd.ims.lis.v1.score+json"
_MEMBERS = "application/vnd.ims.lti-nrps.v2.membershipcontainer+json"

_STUDENT = re.compile(
    r"(?:.*/membership#|urn:lti:role:ims/lis/)?Learner|.*/membership/Learner#\w+", re.ASCII
)
_TRIAL = "#TestUser"
"""Roles in the course alone: who teaches it may be a learner of the university."""

_Number = Annotated[float, msgspec.Meta(ge=0, le=MOST_POINTS)]
_Word = str | int
"""An id: a text by the specification; some systems write a number."""


class _Item(msgspec.Struct, frozen=True, rename="camel"):
    id: str
    label: str = ""
    score_maximum: _Number = 0
    resource_id: _Word | None = None
    tag: str | None = None


class _Result(msgspec.Struct, frozen=True, rename="camel"):
    user_id: _Word
    result_score: _Number | None = None
    result_maximum: _Number | None = None
    comment: str | None = None


class _Member(msgspec.Struct, frozen=True):
    user_id: _Word
    roles: tuple[str, ...] = ()
    status: str = "Active"
    name: str | None = None
    given_name: str | None = None
    family_name: str | None = None
    email: str | None = None
    lis_person_sourcedid: _Word | None = None


class _Page(msgspec.Struct, frozen=True):
    members: tuple[_Member, ...] = ()


class Column(msgspec.Struct, frozen=True):
    """The column of an assignment: what it is called if it is made, or the `name` of one there."""

    slug: str
    title: str
    points: Decimal
    name: str | None = None


class LtiPlatform:
    """One assignment of a system by LTI. Without a `column` it knows the students alone."""

    name: Platform = "lti"
    key: Key = "lti"
    is_brief = False
    is_loose = True

    def __init__(
        self,
        session: LmsSession,
        settings: LtiSettings,
        clock: Callable[[], datetime],
        column: Column | None = None,
    ) -> None:
        self._session, self._settings, self._clock = session, settings, clock
        self._column = column
        self._item: _Item | None = None
        self._is_sought = False

    def assignment(self) -> LmsAssignment:
        """Return what the assignment's column is; what it is to be, where there is none yet."""
        column, item = self._wanted(), self._known()
        if item is None:
            return LmsAssignment(column.title, column.points, takes_pages=False, is_new=True)
        most = _exact(item.score_maximum)
        return LmsAssignment(
            item.label or column.title, most if most > 0 else None, takes_pages=False
        )

    def people(self) -> tuple[LmsPerson, ...]:
        """Return the active students of the course; the trial student is none."""
        pages = self._pages(_Page, self._settings.memberships, _MEMBERS, limit=_PER_PAGE)
        members = (each for page in pages for each in page.members)
        found = (_person(each) for each in _bounded(members) if _is_student(each))
        return tuple({each.user: each for each in found}.values())

    def standings(self) -> Mapping[str, Standing]:
        """Return what stands there, by user."""
        item = self._known()
        return {} if item is None else dict(self._results(item, limit=_PER_PAGE))

    def standing(self, user: str) -> Standing:
        """Return what stands there now of one student."""
        item = self._known()
        found = {} if item is None else dict(self._results(item, user_id=user))
        return found.get(user, _NOTHING)

    def write(self, user: str, standing: Standing, grade: PushedGrade, page: bytes) -> None:
        """Post a score. Raises UnsureError where it may have been written."""
        del standing, page
        item = self._known() or self._made()
        score = {
            "userId": user,
            "scoreGiven": float(grade.points),
            "scoreMaximum": item.score_maximum,
            "activityProgress": "Completed",
            "gradingProgress": "FullyGraded",
            "timestamp": self._clock().isoformat(timespec="milliseconds"),
        }
        if grade.comment:
            score["comment"] = grade.comment
        place = _below(item.id, "scores")
        try:
            self._send("POST", place, {"Content-Type": _SCORE}, score, is_repeatable=False)
        except RefusedError as error:
            if error.status != _CONFLICT:
                raise
            raise LmsError(say("lms-has-newer-score"), say("check-machines-clock")) from None

    def _wanted(self) -> Column:
        assert self._column is not None  # of a fetch, which asks for no grades
        return self._column

    def _known(self) -> _Item | None:
        """Return the column; None where there is none. Raises UsageError where it is not sure."""
        if not self._is_sought:
            self._item = self._found()
            self._is_sought = True
        return self._item

    def _found(self) -> _Item | None:
        column = self._wanted()
        pages = self._pages(tuple[_Item, ...], self._settings.line_items, _ITEMS, limit=_PER_PAGE)
        items = _bounded(each for page in pages for each in page)
        if column.name is None:
            found = [e for e in items if _is_of(e, column)]
        else:
            found = [e for e in items if column.name in (e.label, e.id)]
        if len(found) > 1:
            raise UsageError(
                say("several-columns-there", count=len(found), name=column.name or column.slug),
                say("name-columns-id", ids=in_a_row(each.id for each in found[:_TOLD])),
            )
        if not found and column.name is not None:
            labels = in_a_row(each.label for each in items[:_TOLD]) if items else say("none")
            raise UsageError(
                say("no-column-there", name=repr(column.name)), say("known", known=labels)
            )
        if found and not self._session.is_own(found[0].id):
            raise unreadable()
        return found[0] if found else None

    def _made(self) -> _Item:
        """Return a new column. One that was made and seemed not to be is found the next time."""
        column = self._wanted()
        self._is_sought = False
        if (item := self._known()) is not None:
            return item
        self._is_sought = False
        what = {
            "label": column.title,
            "scoreMaximum": float(column.points),
            "resourceId": column.slug,
            "tag": TAG,
        }
        kinds = {"Content-Type": _ITEM, "Accept": _ITEM}
        place = self._settings.line_items
        try:
            answer = self._send("POST", place, kinds, what, is_repeatable=False)
        except RefusedError:
            raise LmsError(
                say("lms-makes-no-column", name=column.title),
                say("make-column-there-and-name-it", option="--column"),
            ) from None
        item = decoded(answer.json(), _Item)
        if not self._session.is_own(item.id) or item.score_maximum <= 0:
            raise unreadable()
        self._item, self._is_sought = item, True
        return item

    def _results(self, item: _Item, **what: str) -> Iterator[tuple[str, Standing]]:
        most = _exact(item.score_maximum)
        pages = self._pages(tuple[_Result, ...], _below(item.id, "results"), _RESULTS, **what)
        for each in _bounded(each for page in pages for each in page):
            yield str(each.user_id), _standing(each, most)

    def _pages(self, kind: type[Told], place: str, accepted: str, **what: str) -> Iterator[Told]:
        following: str | None = place
        while following is not None:
            answer = self._send("GET", following, {"Accept": accepted}, params=what or None)
            yield decoded(answer.json(), kind)
            following, what = answer.links.get("next", {}).get("url"), {}

    def _send(
        self,
        method: Literal["GET", "POST"],
        place: str,
        kinds: Mapping[str, str],
        content: object = None,
        *,
        params: Mapping[str, str] | None = None,
        is_repeatable: bool = True,
    ) -> Answer:
        what: dict[str, Any] = {"headers": {"Authorization": "", **kinds}, "params": params}
        if content is not None:
            what["data"] = msgspec.json.encode(content)
        try:
            return self._session.send(
                method, place, is_repeatable=is_repeatable, follows=method == "GET", **what
            )
        except RefusedError as error:
            if error.status not in _NOT_ALLOWED:
                raise
            raise RefusedError(
                say("lms-does-not-allow-tool"), say("allow-tool-services-there"), error.status
            ) from None


_NOTHING = Standing(comment="")
_CONFLICT = 409
_NOT_ALLOWED = (401, 403)
_TOLD = 5


def _below(place: str, word: str) -> str:
    """Return the address of a service of a line item: Moodle's addresses end in a query."""
    parts = urlsplit(place)
    return urlunsplit(parts._replace(path=f"{parts.path.rstrip('/')}/{word}"))


def _bounded(rows: Iterator[Told]) -> Sequence[Told]:
    found = []
    for each in rows:
        found.append(each)
        if len(found) > _MOST:
            raise unreadable()
    return found


def _exact(number: float) -> Decimal:
    return Decimal(repr(number))  # which `_Number` knows to be finite


def _standing(each: _Result, most: Decimal) -> Standing:
    """Return a result as points of the column: it may be told out of another maximum."""
    comment = plain(each.comment or "")
    if each.result_score is None:
        return Standing(comment=comment)
    theirs = Decimal(1) if each.result_maximum is None else _exact(each.result_maximum)
    try:
        points = scaled(_exact(each.result_score), theirs, most)
    except ArithmeticError:  # of 10^9 out of 10^-300
        raise unreadable() from None
    if points > MOST_POINTS:
        raise unreadable()
    return Standing(points, comment=comment)


def _is_student(each: _Member) -> bool:
    return (
        each.status == "Active"
        and any(_STUDENT.fullmatch(role) for role in each.roles)
        and not any(role.endswith(_TRIAL) for role in each.roles)
    )


def _is_of(each: _Item, column: Column) -> bool:
    """Say whether a line item was made for an assignment here.

    Some systems keep neither tag nor resource: of those it is what is called so.
    """
    if each.tag or each.resource_id:
        return each.tag == TAG and str(each.resource_id) == column.slug
    return each.label == column.title


def _person(each: _Member) -> LmsPerson:
    name = each.name or " ".join(filter(None, (each.given_name, each.family_name)))
    sid = "" if each.lis_person_sourcedid is None else str(each.lis_person_sourcedid)
    return LmsPerson(str(each.user_id), name, sid=sid, email=each.email or "")
