"""Students, assignments and reports for gradebooks."""

from __future__ import annotations

import hashlib
from datetime import datetime, timedelta, timezone
from pathlib import Path

import msgspec

from grader.assignment import Assignment
from grader.course import load_course
from grader.gradebook.book import Gradebook, HandedIn, Recording
from grader.gradebook.entries import RosterEntry, Student, find_student, plan
from grader.lateness import LatePolicy
from grader.report import Report
from tests.sample_reports import typical

COURSES = Path(__file__).parents[1] / "courses"
SLUG = "e2e-conv"
DUE = datetime(2026, 12, 1, 23, 59, tzinfo=timezone(timedelta(hours=1)))
CONTENT = b"a notebook"


def conv(
    late: LatePolicy | None = None, counts: str = "best", due: datetime | None = DUE
) -> Assignment:
    """Return the assignment that the typical report is of."""
    root = Path(__file__).parents[2]
    assignment = load_course(root).assignments[SLUG].assignment
    return msgspec.structs.replace(assignment, late=late, counts=counts, due=due)


def report_of(content: bytes = CONTENT, score: float | None = None, seed: int = 1) -> Report:
    """Return the typical report for a file, or one with as many points in its first part more."""
    report = msgspec.structs.replace(
        typical(), seed=seed, graded=datetime(2026, 12, 2, tzinfo=timezone.utc)
    )
    sha256 = hashlib.sha256(content).hexdigest()
    submission = msgspec.structs.replace(report.submission, sha256=sha256)
    report = msgspec.structs.replace(report, submission=submission)
    if score is None:
        return report
    first, *others = report.parts
    first = msgspec.structs.replace(first, score=first.score + score - report.score)
    return msgspec.structs.replace(report, score=score, parts=(first, *others))


def enrol(book: Gradebook, *logins: str, **fields: str) -> Student:
    """Put students into the roster; return the last one."""
    entries = [RosterEntry(login, {"name": login.title(), **fields}, {}) for login in logins]
    book.change_students(plan(book.students(), entries))
    return find_student(book.students(), logins[-1])


def hand_in(
    book: Gradebook,
    student: Student,
    content: bytes = CONTENT,
    score: float | None = None,
    handed_in: datetime | None = None,
    seed: int = 1,
) -> None:
    """Record a file and its report."""
    given = HandedIn(student.id, SLUG, "hw.ipynb", content, handed_in)
    book.record_all([Recording(given, report_of(content, score, seed))])
