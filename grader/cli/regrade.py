"""`grader regrade`: grade anew what the gradebook has, as far as that is asked for or needed."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console
from rich.text import Text as Styled

from grader.api import open_batch
from grader.batch.grading import Interrupted
from grader.batch.keys import Keys
from grader.batch.regrading import Change, Plan, Reason, Rerun, Way, count_anew, make_plan
from grader.cli.gradebook import course_here, open_book, secret_files
from grader.cli.student_grades import plain_table, told_number
from grader.cli.telling import CommandOutput, LiveBatch, some_of, tell, words
from grader.course import Course, load_course
from grader.environment import usable_cores
from grader.errors import UsageError
from grader.files import OwnFolder
from grader.gradebook.book import Gradebook
from grader.gradebook.entries import Student, show
from grader.gradebook.grades import Account, Grade, derive_all
from grader.grading.preparation import GradingOptions
from grader.language import Text, Value, counted, foreign, in_a_row, in_clauses, say
from grader.progress import Silent, duration
from grader.render.wording import one_line

_SHOWN = 10

_REASONS: Mapping[Reason, Text] = {
    "changed": say("what-decides-has-changed"),
    "undecided": say("machine-had-left-check-undecided"),
    "ungraded": say("never-graded"),
    "contested": say("with-other-points-another-solution-in-notebook"),
    "asked": say("asked-for"),
    "same": say("nothing-has-changed"),
    "points": say("points-titles-visibility-or-due-date-have"),
    "unknown": say("course-has-no-such-assignment-or-data"),
}

_CHANGES: Mapping[Change, Text] = {
    "grader": say("grader-or-packages"),
    "data": say("the-data"),
    "assignment": say("checks-and-options-in-assignment-toml"),
    "files": say("assignments-other-files"),
    "options": say("isolation-seed-or-dialect"),
}

_HEADS: Mapping[str, Text] = {"run": say("run-again"), "rescored": say("counted-anew")}

_GROUPS: Mapping[Way, Text] = {
    "run": say("run-at-time-reason"),
    "rescored": say("have-their-points-recomputed-nothing-run-reason"),
    "kept": say("kept-unchanged-nothing-done-reason"),
    "left": say("left-unchanged-reason"),
}
"""What is done with each group of attempts."""

Grades = dict[tuple[int, str], Grade]
"""Grades by students' ids and assignments."""

Accounts = Mapping[int, Mapping[str, Account]]
"""What happened, by the same."""


Moved = tuple[Student, str, Grade | None, Grade, Text]
"""Whose grade of which assignment is another one: what it was, what it is, and why."""


class RegradeOptions(msgspec.Struct, frozen=True):
    """The arguments of `grader regrade`, as they were given; `grading.assignment` is the slug.

    `sure`: all may be run again without `changed`.
    """

    grading: GradingOptions
    changed: bool = False
    only_plan: bool = False
    sure: bool = False
    jobs: int | None = None


def run_regrade(options: RegradeOptions, told: CommandOutput, messages: Console) -> bool:
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
            told.tell({**found, "done": False}, lambda _: tell(messages, say("nothing-done")))
            return True
        _refuse_all_at_once(options, plan)
        before = book.accounts()
        is_other = book.take_rules(each.assignment for each in course.assignments.values())
        count_anew(book, keys, plan)
        slugs = sorted({each.attempt.slug for each in plan.of("run")})
        runs = (_run(options, book, plan, slug, jobs, messages) for slug in slugs)
        failed = [each for run in runs for each in run]
        can_move = is_other or plan.of("rescored") or plan.of("run")
        moved = _moved(book, plan, before) if can_move else []
    found |= {"done": True, "moved": [_brief(*each) for each in moved], "ungraded": failed}
    told.tell(found, lambda console: _tell_people(console, moved, failed))
    return not failed


def _course(named: Path | None) -> Course:
    root, is_ours = course_here(named)
    if not is_ours:
        raise UsageError(
            say("this-folder-not-part-course-which-grading"),
            say("run-command-in-folder-with-assignments"),
        )
    return load_course(root)


def _refuse_all_at_once(options: RegradeOptions, plan: Plan) -> None:
    if plan.of("run") and not options.changed and not options.sure:
        raise UsageError(
            say("files-that-would-run-again-regardless-changes", count=len(plan.files("run"))),
            say("with-changed-only-submissions-whose-result-would"),
        )


def _run(
    options: RegradeOptions, book: Gradebook, plan: Plan, slug: str, jobs: int, messages: Console
) -> list[str]:
    planned = [each for each in plan.of("run") if each.attempt.slug == slug]
    people = {each.id: each.login for each in book.students()}
    whose: dict[str, dict[str, None]] = {}
    for each in planned:
        whose.setdefault(each.attempt.sha256, {})[people[each.attempt.student]] = None
    called = {name: some_of(logins, _SHOWN) for name, logins in whose.items()}
    grading = msgspec.structs.replace(options.grading, assignment=slug)
    with OwnFolder() as folder:
        store = Rerun(book, planned, folder)
        entries = tuple(store.entries())
        own = (folder, *secret_files(options.grading.course))
        with open_batch(grading, own, store) as opened:
            opened.find_data(entries, Silent())
            try:
                with LiveBatch(messages, total=len(entries), called=called) as progress:
                    summary = opened.batch.run(entries, {}, jobs, progress)
            except Interrupted:
                tell(messages, say("finished-gradings-kept-with-changed-continues"))
                raise KeyboardInterrupt from None
    noticed = {row.name: row.noticed for row in summary.rows if not (row.graded and row.report)}
    return [
        one_line(f"{people[each.attempt.student]}, {slug}: {words(noticed[each.attempt.sha256])}")
        for each in planned
        if each.attempt.sha256 in noticed
    ]


def _grades(accounts: Accounts) -> Grades:
    return {
        (student, slug): grade
        for student, own in accounts.items()
        for slug, grade in derive_all(own.values()).items()
    }


def _moved(book: Gradebook, plan: Plan, accounts: Accounts) -> list[Moved]:
    """Return whose grade is another than by the accounts of before, by login, and why."""
    before = _grades(accounts)
    people = {each.id: each for each in book.students() if each.withdrawn is None}
    order: tuple[Way, ...] = ("kept", "rescored", "run")  # the last of a student's attempts says it
    ways = {
        (each.attempt.student, each.attempt.slug): way for way in order for each in plan.of(way)
    }
    found = []
    for (student, slug), grade in _grades(book.accounts()).items():
        was = before.get((student, slug))
        if student in people and grade.points != (None if was is None else was.points):
            why = _why(ways.get((student, slug), "kept"), was, grade)
            found.append((people[student], slug, was, grade, why))
    return sorted(found, key=lambda each: (each[0].login, each[1]))


def _why(way: str, before: Grade | None, after: Grade) -> Text:
    known = {} if before is None else {each.id: each for each in before.parts}
    parts = [
        say("field-old-now-new", field=each.id, old=_of(known.get(each.id)), new=_of(each))
        for each in after.parts
        if _of(known.get(each.id)) != _of(each)
    ]
    known_idle = () if before is None else before.idle
    idle = [
        say("adjustment-part-without-effect", number=each.id, part=each.part)
        for each in after.idle
        if each not in known_idle
    ]
    return in_clauses([_HEADS.get(way, say("due-date-or-late-policy")), *parts, *idle])


def _of(part: Any) -> Text:
    if part is None:
        return foreign("–")
    points, possible = show(part.score), show(part.max_score)
    return say("points-possible", points=points, possible=possible)


def _brief(
    student: Student, slug: str, before: Grade | None, after: Grade, why: Text
) -> dict[str, Any]:
    return {
        "student": student.login,
        "name": student.name,
        "assignment": slug,
        "before": None if before is None else before.points,
        "after": after.points,
        "possible": after.possible,
        "why": why.english,
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
        "changes": Counter(change for each in plan.attempts for change in each.changes),
    }


def _plan_lines(plan: Plan, jobs: int) -> list[Text]:
    """Return what is to be done, a line for each group with what it costs."""
    lines = []
    for way, sentence in _GROUPS.items():
        chosen = plan.of(way)
        if chosen:
            reasons = Counter((each.reason, each.changes) for each in chosen)
            why = in_clauses(
                say("reason-count", reason=_reason(*reason), count=number)
                for reason, number in reasons.items()
            )
            facts: dict[str, Value] = {"some": len(chosen), "all": len(plan.attempts), "why": why}
            if way == "run":
                facts |= {
                    "files": _files(len(plan.files("run"))),
                    "cost": _cost(plan, jobs),
                    "jobs": jobs,
                }
            lines.append(say(sentence, **facts))
    if slugs := sorted({each.attempt.slug for each in plan.of("left")}):
        told = say("their-data-left-bring-their-folders-back")
        lines.append(say(told, names=in_a_row(slugs)))
    return lines or [say("gradebook-has-no-attempts")]


def _reason(reason: Reason, changes: tuple[Change, ...]) -> Text:
    if not changes:
        return _REASONS[reason]
    return say("changed-what", what=in_a_row(_CHANGES[each] for each in changes))


def _files(number: int) -> Text:
    return counted(number, say("file"), say("files"))


def _cost(plan: Plan, jobs: int) -> Text:
    if plan.seconds is None:
        return say("unknown-time")
    return say("about", time=duration(plan.seconds / jobs))


def _tell_people(console: Console, moved: list[Moved], failed: list[str]) -> None:
    if moved:
        table = plain_table(
            say("student"), say("assignment"), say("before"), say("now"), say("why")
        )
        for student, slug, before, after, why in moved:
            points = (
                told_number(None if before is None else before.points),
                told_number(after.points),
            )
            row = (student.login, slug, *points, words(why))
            table.add_row(*(Styled(one_line(word)) for word in row))
        console.print(table)
    tell(console, counted(len(moved), say("grade-moved"), say("grades-moved")))
    if failed:
        tell(console, say("not-graded-and-unchanged", names=some_of(failed, _SHOWN)))
