"""`grader regrade`: grade anew what the gradebook has, as far as that is asked for or needed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from grader.api import open_batch
from grader.batch.grading import Interrupted
from grader.batch.keys import Keys
from grader.batch.regrading import Plan, Reason, Rerun, Way, count_anew, make_plan
from grader.cli.gradebook import Told, course_here, open_book, secret_files
from grader.cli.progress import LiveBatch
from grader.cli.telling import tell
from grader.course import Course, load_course
from grader.environment import usable_cores
from grader.errors import UsageError
from grader.files import OwnFolder
from grader.gradebook.book import Gradebook
from grader.gradebook.entries import show
from grader.gradebook.grades import Grade, derive_all
from grader.gradebook.roster import Student
from grader.grading.preparation import GradingOptions
from grader.language import say
from grader.progress import Silent, duration
from grader.render.wording import count, one_line

_SHOWN = 10

_REASONS: Mapping[Reason, str] = {
    "changed": "what decides has changed",
    "undecided": "the machine had left something undecided",
    "ungraded": "never graded",
    "contested": "by other points, another solution in the notebook may count",
    "asked": "asked for",
    "same": "nothing has changed",
    "points": "points, titles, visibility or the due date have changed",
    "unknown": "the course has no such assignment, or its data are missing",
}

Grades = dict[tuple[int, str], Grade]
"""Grades by students' ids and assignments."""


class RegradeOptions(msgspec.Struct, frozen=True):
    """The arguments of `grader regrade`, as they were given; `grading.assignment` is the slug.

    `sure`: all may be run again without `changed`.
    """

    grading: GradingOptions
    changed: bool = False
    only_plan: bool = False
    sure: bool = False
    jobs: int | None = None


def run_regrade(options: RegradeOptions, told: Told, messages: Console) -> bool:
    """Say what is to be done, do it, and tell whose grade moved; the plan goes to `messages`.

    Returns whether all that was to be graded is. Raises GraderError.
    """
    with open_book(options.grading.course, take_rules=False) as book:
        course = _course(options.grading.course)
        if options.grading.assignment is not None:
            course.get(options.grading.assignment)
        keys, jobs = Keys(course, options.grading), options.jobs or usable_cores()
        plan = make_plan(book, keys, options.grading.assignment, changed=options.changed)
        found = _plan_told(plan, jobs)
        tell(messages, *_plan_lines(plan, jobs))
        if options.only_plan:
            told.tell({**found, "done": False}, lambda _: tell(messages, "Nothing is done."))
            return True
        _refuse_all_at_once(options, plan)
        before = _grades(book)
        book.take_rules(each.assignment for each in course.assignments.values())
        failed = _do(options, book, keys, plan, jobs, messages)
        moved = _moved(book, plan, before)
    rows = [_brief(*each) for each in moved]
    found |= {"done": True, "moved": rows, "ungraded": failed}
    told.tell(found, lambda console: _tell_people(console, rows, failed))
    return not failed


def _course(named: Path | None) -> Course:
    root, is_ours = course_here(named)
    if not is_ours:
        raise UsageError(
            say("This folder is in no course, and only a course says how to grade."),
            say("Run the command in a folder with assignments/, or name one with --course DIR."),
        )
    return load_course(root)


def _refuse_all_at_once(options: RegradeOptions, plan: Plan) -> None:
    if plan.of("run") and not options.changed and not options.sure:
        raise UsageError(
            say(
                "Files that would be run again, whatever has changed: {count}.",
                count=len(plan.files("run")),
            ),
            say("With --changed, only what has changed is run. If you mean all, add --yes."),
        )


def _do(
    options: RegradeOptions,
    book: Gradebook,
    keys: Keys,
    plan: Plan,
    jobs: int,
    messages: Console,
) -> list[str]:
    """Do what is planned; return the names of what could not be graded."""
    count_anew(book, keys, plan)
    failed: list[str] = []
    for slug in sorted({each.attempt.slug for each in plan.of("run")}):
        failed += _run(options, book, plan, slug, jobs, messages)
    return failed


class _Folder(OwnFolder):
    """Where students' files lie while they are run: removed by a later command if not by this."""

    def close(self) -> None:
        """Remove it."""
        self.remove()


def _run(
    options: RegradeOptions, book: Gradebook, plan: Plan, slug: str, jobs: int, messages: Console
) -> list[str]:
    planned = [each for each in plan.of("run") if each.attempt.slug == slug]
    grading = msgspec.structs.replace(options.grading, assignment=slug)
    with closing(_Folder()) as folder:
        store = Rerun(book, planned, folder.path)
        entries = tuple(store.entries())
        own = (folder.path, *secret_files(options.grading.course))
        with open_batch(grading, own, store) as opened:
            opened.find_data(Silent())
            try:
                with LiveBatch(messages, total=len(entries)) as progress:
                    summary = opened.batch.run(entries, {}, jobs, progress)
            except Interrupted:
                tell(messages, "What was graded is kept: with --changed it goes on.")
                raise KeyboardInterrupt from None
    people = {each.id: each.login for each in book.students()}
    noticed = {row.name: row.noticed for row in summary.rows if not (row.graded and row.report)}
    return [
        one_line(f"{people[each.attempt.student]}, {slug}: {noticed[each.attempt.sha256]}")
        for each in planned
        if each.attempt.sha256 in noticed
    ]


def _grades(book: Gradebook) -> Grades:
    found = {}
    for student, accounts in book.accounts().items():
        for slug, grade in derive_all(accounts.values()).items():
            found[student, slug] = grade
    return found


def _moved(
    book: Gradebook, plan: Plan, before: Grades
) -> list[tuple[Student, str, Grade | None, Grade, str]]:
    """Return whose grade is another one, by login and assignment, and why."""
    people = {each.id: each for each in book.students() if each.withdrawn is None}
    ways = {(each.attempt.student, each.attempt.slug): each.way for each in plan.of("kept")}
    ways |= {
        (each.attempt.student, each.attempt.slug): each.way
        for way in ("rescored", "run")
        for each in plan.of(way)
    }
    found = []
    for (student, slug), grade in _grades(book).items():
        was = before.get((student, slug))
        if student in people and grade.points != (None if was is None else was.points):
            why = _why(ways.get((student, slug), "kept"), was, grade)
            found.append((people[student], slug, was, grade, why))
    return sorted(found, key=lambda each: (each[0].login, each[1]))


def _why(way: str, before: Grade | None, after: Grade) -> str:
    """Say in a line what made a grade another one."""
    known = {} if before is None else {each.id: each for each in before.parts}
    parts = [
        f"{each.id} {_of(known.get(each.id))} is now {_of(each)}"
        for each in after.parts
        if _of(known.get(each.id)) != _of(each)
    ]
    head = {"run": "run again", "rescored": "counted anew"}.get(way, "due date or late policy")
    return "; ".join([head, *parts])


def _of(part: Any) -> str:
    return "–" if part is None else f"{show(part.score)} of {show(part.max_score)}"


def _brief(
    student: Student, slug: str, before: Grade | None, after: Grade, why: str
) -> dict[str, Any]:
    return {
        "student": student.login,
        "name": student.name,
        "assignment": slug,
        "before": None if before is None else before.points,
        "after": after.points,
        "possible": after.possible,
        "why": why,
    }


def _plan_told(plan: Plan, jobs: int) -> dict[str, Any]:
    return {
        "run": len(plan.of("run")),
        "files_to_run": len(plan.files("run")),
        "seconds": None if plan.seconds is None else plan.seconds / jobs,
        "rescored": len(plan.of("rescored")),
        "kept": len(plan.of("kept")),
        "left": len(plan.of("left")),
        "reasons": Counter(each.reason for each in plan.attempts),
    }


def _plan_lines(plan: Plan, jobs: int) -> list[str]:
    """Return what is to be done, a line for each group with what it costs."""
    files, seconds = len(plan.files("run")), plan.seconds
    cost = "nobody knows how long" if seconds is None else f"about {duration(seconds / jobs)}"
    said: dict[Way, str] = {
        "run": f"are run: {count(files, 'file')}, {cost}, {jobs} at a time",
        "rescored": "have their points counted anew: nothing is run",
        "kept": "are kept as they are: nothing is done",
        "left": "are left as they are",
    }
    lines = []
    for way, words in said.items():
        chosen = plan.of(way)
        reasons = Counter(_REASONS[each.reason] for each in chosen)
        if chosen:
            why = "; ".join(f"{reason} ({number})" for reason, number in reasons.items())
            lines.append(f"{len(chosen)} of {len(plan.attempts)} {words}. Why: {why}.")
    return lines or ["The gradebook has no attempts at it."]


def _tell_people(console: Console, rows: list[dict[str, Any]], failed: list[str]) -> None:
    if rows:
        table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="dim")
        for title in ("Student", "Assignment", "Before", "Now", "Why"):
            table.add_column(title, overflow="fold")
        for row in rows:
            points = ("–" if row[key] is None else show(row[key]) for key in ("before", "after"))
            words = (row["student"], row["assignment"], *points, row["why"])
            table.add_row(*(Text(one_line(word)) for word in words))
        console.print(table)
    tell(console, f"{count(len(rows), 'grade')} moved.")
    if failed:
        more = f" and {len(failed) - _SHOWN} more" if len(failed) > _SHOWN else ""
        tell(console, f"Not graded, and as before: {'; '.join(failed[:_SHOWN])}{more}")
