"""Pushing grades: planned first, and each looked at once more before it is written.

What stands there decides, not what a push believes to have done: so a push can be killed at any
moment and run again. What the journal does not know for the grader's own is somebody else's.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal
from typing import Literal, NamedTuple

import msgspec

from grader.gradebook.entries import PartPoints
from grader.lms.sync.journal import Journal, Ours
from grader.lms.sync.platform import LmsAssignment, LmsGrades, PushedGrade, Standing, plain
from grader.lms.sync.session import Sleep, UnsureError

_TRIES = 5
_HUNDREDTH = Decimal("0.01")

Lack = Literal["ungraded", "unsettled", "unmarked", "unmatched"]
"""Why a grade is not to be pushed at all."""

Verdict = Literal["write", "same", "excused", "entered", "removed", "remarks", "rated", "gone"]
"""What a push does with a student, or why nothing: somebody entered another grade there, removed
the pushed one, wrote a comment, or used the rubric; `gone` is nobody of the course any more."""


class Wanted(msgspec.Struct, frozen=True):
    """A grade of the gradebook on its way. `page` returns the feedback page of `grade.page`."""

    login: str
    user: str | None
    grade: PushedGrade | None
    page: Callable[[], bytes]
    lack: Lack | None = None


class Row(NamedTuple):
    """A student in the plan: what stands there, what is to, and why not."""

    wanted: Wanted
    there: Standing
    verdict: Verdict | Lack


def scaled(points: Decimal, possible: Decimal, theirs: Decimal) -> Decimal:
    """Return points out of the system's maximum, to a hundredth."""
    if possible > 0 and theirs > 0 and possible != theirs:
        points = points * theirs / possible
    return points.quantize(_HUNDREDTH, ROUND_HALF_UP).normalize() + 0


def ratings_of(
    assignment: LmsAssignment,
    points: Decimal,
    parts: Sequence[PartPoints],
    titles: Mapping[str, Collection[str]],
) -> dict[str, Decimal]:
    """Return the points of the rubric there, if each of its rows is called as a part; else none.

    `titles` are the parts' in all languages. There are none either where the rubric decides the
    grade there, and lateness or an adjustment made another grade than its sum.
    """
    named = {_folded(name): each for each in parts for name in (each.id, *titles.get(each.id, ()))}
    found = {}
    for row in assignment.rubric:
        part = named.get(_folded(row.name))
        if part is None or not row.name.strip():
            return {}
        found[row.id] = scaled(part.score, part.max_score, row.points)
    if assignment.rubric_decides and sum(found.values()) != points:
        return {}
    return found


def _folded(name: str) -> str:
    return " ".join(name.casefold().split())


def plan(
    platform: LmsGrades, wanted: Iterable[Wanted], journal: Journal, *, overwrite: bool
) -> list[Row]:
    """Return what a push would do with everybody. Raises LmsError."""
    standings = platform.standings()
    people = {each.user for each in platform.people()}

    def planned(each: Wanted) -> Row:
        there = standings.get(each.user or "", Standing())
        if each.lack is not None or each.user is None or each.grade is None:
            return Row(each, there, each.lack or "unmatched")
        if each.user not in people:
            return Row(each, there, "gone")
        ours = journal.of(each.user)
        found = verdict(there, each.grade, ours, overwrite=overwrite)
        if found == "write" and platform.is_brief:
            there = platform.standing(each.user)
            found = verdict(there, each.grade, ours, overwrite=overwrite)
        return Row(each, there, found)

    return [*map(planned, wanted)]


def verdict(there: Standing, wanted: PushedGrade, ours: Ours, *, overwrite: bool) -> Verdict:
    """Return what to do about a student."""
    if there.excused:
        return "excused"
    if _is_there(there, wanted, ours):
        return "same"
    if overwrite:
        return "write"
    if there.points != wanted.points and not ours.has_points(there):
        return "removed" if there.points is None else "entered"
    if there.remarks or not _may_comment(there, wanted, ours):
        return "remarks"
    if wanted.ratings and not ours.has_ratings(there) and not _has(there, wanted.ratings):
        return "rated"
    return "write"


def _is_there(there: Standing, wanted: PushedGrade, ours: Ours) -> bool:
    """Say whether all of it stands there, or stood there when it was pushed.

    A page, a rating or a comment that somebody has removed since is not pushed again.
    """
    if there.points != wanted.points:
        return False
    has_page = not wanted.page or wanted.page in there.pages
    is_rated = not wanted.ratings or _has(there, wanted.ratings)
    is_told = there.comment in (None, plain(wanted.comment)) or not wanted.comment
    last = ours.last
    if last is not None and last.points == wanted.points:
        has_page = has_page or last.page == wanted.page
        is_rated = is_rated or last.ratings == dict(wanted.ratings)
        is_told = is_told or last.comment == wanted.comment
    return has_page and is_rated and is_told


def _may_comment(there: Standing, wanted: PushedGrade, ours: Ours) -> bool:
    """Say whether no comment of somebody else would be replaced."""
    return there.comment == plain(wanted.comment) or ours.has_comment(there)


def _has(there: Standing, ratings: Mapping[str, Decimal]) -> bool:
    return all(there.ratings.get(key) == points for key, points in ratings.items())


def push(
    platform: LmsGrades, rows: Iterable[Row], journal: Journal, sleep: Sleep, *, overwrite: bool
) -> Iterator[tuple[str, bool]]:
    """Write what the plan says; yield each student, and whether the grade stands there.

    It does not where somebody has written there since. Raises LmsError: what is done then is done.
    """
    for row in rows:
        if row.verdict == "write":
            done = _push_one(platform, row.wanted, journal, sleep, overwrite=overwrite)
            yield row.wanted.login, done


def unconfirmed(platform: LmsGrades, rows: Iterable[Row]) -> list[str]:
    """Return who was written and has other points there, by what the system tells afterwards."""
    standings = platform.standings()
    return [
        row.wanted.login
        for row in rows
        if row.verdict == "write"
        and row.wanted.grade is not None
        and standings.get(row.wanted.user or "", Standing()).points != row.wanted.grade.points
    ]


def _push_one(
    platform: LmsGrades, wanted: Wanted, journal: Journal, sleep: Sleep, *, overwrite: bool
) -> bool:
    assert wanted.user is not None and wanted.grade is not None  # or it is not planned
    for tried in range(_TRIES):
        there = platform.standing(wanted.user)
        found = verdict(there, wanted.grade, journal.of(wanted.user), overwrite=overwrite)
        if found == "same":  # a try that seemed to fail was done
            journal.note(wanted.user, wanted.grade, done=True)
            return True
        if found != "write":
            return False
        journal.note(wanted.user, wanted.grade, done=False)
        try:
            platform.write(wanted.user, there, wanted.grade, wanted.page())
        except UnsureError:
            if tried + 1 == _TRIES:
                raise
            sleep(float(2**tried))
            continue
        journal.note(wanted.user, wanted.grade, done=True)
        return True
    raise AssertionError("the last try returns or raises")
