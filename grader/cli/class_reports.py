"""The reports of a class, one at a time: of a folder of `grader batch`, or of a gradebook."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, get_args

import msgspec

from grader.insights.figures import ObjectionRow, ObjectionState, Source
from grader.insights.observation import Person, ReportedAttempt
from grader.language import NOTHING, Text, join, say
from grader.lms.collect import CollectedStudent, read_manifest
from grader.lms.handback import read_report, report_files
from grader.render.final_grade import FinalGrade
from grader.report import Report

if TYPE_CHECKING:
    from grader.gradebook.book import Gradebook
    from grader.gradebook.entries import Attempt as Handed
    from grader.gradebook.entries import Student as Enrolled
    from grader.gradebook.grades import Account


STATES = get_args(ObjectionState)


class ClassOptions(msgspec.Struct, frozen=True):
    """Where the reports of a class are: in a folder, or in the gradebook of a course.

    `every` asks for the reports of all attempts, and not of those alone that count.
    """

    assignment: str | None = None
    reports: Path | None = None
    collected: Path | None = None
    course: Path | None = None
    every: bool = False


class StudentWork(NamedTuple):
    """A student's work in an assignment. There is no report where nothing is graded: `why` not.

    `points` of `possible` and the `final` grade are a gradebook's, `number` says which attempt it
    is. `file` is the report in a folder. What could not be graded has no slug in a folder: nobody
    knows what it was to be.
    """

    slug: str
    person: Person
    report: Report | None
    why: Text = NOTHING
    points: float | None = None
    possible: float | None = None
    attempts: tuple[ReportedAttempt, ...] = ()
    final: FinalGrade | None = None
    number: int | None = None
    file: Path | None = None


class ClassOfReports(NamedTuple):
    """The work of a class, read as one goes through it, and who handed in nothing, by slug.

    `people` are those whose names are known before any work is read. `objections` are those of a
    gradebook, by slug.
    """

    source: Source
    works: Iterator[StudentWork]
    missing: dict[str, tuple[Person, ...]]
    people: tuple[Person, ...] = ()
    objections: Mapping[str, tuple[ObjectionRow, ...]] = {}


def open_class(options: ClassOptions) -> AbstractContextManager[ClassOfReports]:
    """Open the reports of a class. Raises UsageError where there are none."""
    if options.reports is not None:
        return _open_folder(options.reports, options.collected, options.assignment)
    return _open_book(options)


@contextmanager
def _open_folder(
    folder: Path, collected: Path | None, slug: str | None
) -> Iterator[ClassOfReports]:
    files = report_files(folder)
    students = read_manifest(collected).students if collected is not None else ()
    people = tuple(Person(each.folder, each.name) for each in students)
    yield ClassOfReports("folder", _in_folder(files, students, slug), {}, people)


def _in_folder(
    files: list[tuple[Path, str]], students: tuple[CollectedStudent, ...], slug: str | None
) -> Iterator[StudentWork]:
    names = {each.folder: each.name for each in students}
    for path, id in files:
        report = read_report(path)
        person = Person(id, names.get(id, ""))
        if not report.parts:
            yield StudentWork("", person, None, join(*report.notes), file=path)
        elif slug in (None, report.assignment.slug):
            yield StudentWork(report.assignment.slug, person, report, file=path)


@contextmanager
def _open_book(options: ClassOptions) -> Iterator[ClassOfReports]:
    # with a database, which a folder does not need
    from grader.cli.gradebook import open_book
    from grader.gradebook.grades import unknown_assignment

    with open_book(options.course) as book:
        rules = book.rules()
        if options.assignment is not None and options.assignment not in rules:
            raise unknown_assignment(options.assignment, rules)
        slugs = [each for each in rules if options.assignment in (None, each)]
        students = [each for each in book.students() if each.withdrawn is None]
        accounts = book.accounts()
        given = {(student, slug) for student in accounts for slug in _given(accounts[student])}
        missing = {
            slug: tuple(_person(each) for each in students if (each.id, slug) not in given)
            for slug in slugs
        }
        every = (
            work
            for student in students
            for work in _of_student(book, student, accounts.get(student.id, {}), options.every)
            if work.slug in slugs
        )
        asked = {slug: _objections(students, accounts, slug) for slug in slugs}
        yield ClassOfReports("gradebook", every, missing, tuple(map(_person, students)), asked)


def _objections(
    students: Iterable[Enrolled], accounts: Mapping[int, Mapping[str, Account]], slug: str
) -> tuple[ObjectionRow, ...]:
    """Return how objections to an assignment stand, by part in the order of the rubric."""
    found: dict[tuple[str, ObjectionState], list[str]] = {}
    order: dict[str, int] = {"": -1}
    for student in students:
        account = accounts.get(student.id, {}).get(slug)
        if account is None:
            continue
        order |= {part: number for number, part in enumerate(account.rules.parts)}
        for each in account.objections:
            key = each.part, each.state(account.adjustments)
            found.setdefault(key, []).append(student.login)
    last = len(order)
    keys = sorted(found, key=lambda key: (order.get(key[0], last), STATES.index(key[1])))
    return tuple(
        ObjectionRow(*key, len(found[key]), tuple(dict.fromkeys(found[key]))) for key in keys
    )


def _given(accounts: Mapping[str, Account]) -> list[str]:
    """Return what somebody handed in a file for: an extension alone is none."""
    return [slug for slug, account in accounts.items() if account.attempts]


def _person(student: Enrolled) -> Person:
    return Person(student.login, student.name, "", student.section)


def _of_student(
    book: Gradebook, student: Enrolled, accounts: Mapping[str, Account], every: bool
) -> Iterator[StudentWork]:
    from grader.gradebook.grades import derive_all

    grades = derive_all(accounts.values())
    for slug in _given(accounts):
        grade, attempts = grades[slug], accounts[slug].attempts
        counting = [each for each in attempts if every or each.number == grade.attempt]
        reports = (book.report_of(each.id) for each in counting) if counting else (None,)
        for report in reports:
            yield StudentWork(
                slug,
                _person(student),
                report,
                why=say("nothing-graded-sentence") if report is None else NOTHING,
                points=None if grade.points is None else float(grade.points),
                possible=float(grade.possible),
                attempts=tuple(map(_attempt, attempts)),
                final=grade.final,
                number=grade.attempt,
            )


def _attempt(attempt: Handed) -> ReportedAttempt:
    scores = tuple(float(each.score) for each in attempt.gradings)
    most = max((float(each.max_score) for each in attempt.gradings), default=0.0)
    rules = tuple(f"{each.basis} {each.rubric}" for each in attempt.gradings)
    number, at = attempt.number, attempt.handed_in
    return ReportedAttempt(number, at, scores, most, rules, attempt.together)
