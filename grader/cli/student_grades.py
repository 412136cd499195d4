"""Grades as instructors ask for them: of all, of one, how they come about, what is decided."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text as Styled

from grader.cli.gradebook import open_book
from grader.cli.telling import CommandOutput, line, some_of, tell, words
from grader.cli.telling import students as students_of
from grader.errors import UsageError
from grader.gradebook.book import Gradebook
from grader.gradebook.entries import Adjustment, Attempt, Student, find_student, show, signed
from grader.gradebook.grades import Account, Grade, Rules, derive_all, unknown_assignment
from grader.gradebook.objections import Objection, checked_part, objection_lines, told_time
from grader.language import Text, Value, foreign, in_a_row, say
from grader.lateness import NONE
from grader.render import pieces
from grader.render.wording import one_line
from grader.report import Report

Decision = Callable[[Gradebook, Student, Account, Grade], dict[str, Any]]
"""Writes a decision down, given whose grade it is and how that came about; returns what it was."""


def list_grades(
    slug: str | None,
    section: str | None,
    course: Path | None,
    told: CommandOutput,
    *,
    everybody: bool,
) -> None:
    """Tell everybody's grades."""
    with open_book(course) as book:
        if slug is not None:
            known_rules(book, slug)
        rules = {each.slug: each for each in book.rules().values() if slug in (None, each.slug)}
        students, accounts = book.students(), book.accounts()
    shown = [
        each
        for each in students
        if (everybody or each.withdrawn is None) and section in (None, each.section)
    ]
    grades = {each.login: grades_of(accounts, each) for each in shown}
    given = handed_in_slugs(accounts, shown)
    columns = {name: each for name, each in rules.items() if name in given} or rules
    rows = [
        {
            **_person(each),
            "grades": {n: _brief(grade) for n, grade in grades[each.login].items() if n in rules},
        }
        for each in shown
    ]

    def people(console: Console) -> None:
        console.print(_class_table(shown, columns, grades))
        tell_rest(console, rules, columns)
        tell_outdated(console, columns, grades)
        graded = sum(
            any(each.points is not None for each in found.values()) for found in grades.values()
        )
        tell(console, say("with-grade", students=students_of(len(shown)), graded=graded))
        if not students:
            tell(console, say("roster-empty-command", command="grader roster import FILE"))

    told.tell({"assignments": [*rules.values()], "students": rows}, people)


def handed_in_slugs(
    accounts: Mapping[int, Mapping[str, Account]], students: Iterable[Student]
) -> set[str]:
    """Return the assignments that some of the students have handed in.

    Others take room in a table, and say nothing.
    """
    every = (accounts.get(each.id, {}) for each in students)
    return {slug for own in every for slug, account in own.items() if account.attempts}


def tell_rest(console: Console, rules: Iterable[str], shown: Collection[str]) -> None:
    """Tell which assignments a table leaves out, because nobody has handed them in."""
    if rest := [name for name in rules if name not in shown]:
        tell(console, say("no-submission-from", names=in_a_row(rest)))


_SHOWN = 10


def tell_outdated(
    console: Console, rules: Mapping[str, Rules], grades: Mapping[str, Mapping[str, Grade]]
) -> None:
    """Tell which grades, by student, are out of other points than their heading says.

    And whose lack what somebody decided, because a part was renamed or taken out.
    """
    for slug, each in rules.items():
        count = sum(_is_outdated(own[slug], each) for own in grades.values() if slug in own)
        if count:
            points, command = show(each.points), f"grader regrade --changed {slug}"
            told = say(
                "grades-by-earlier-rubric", slug=slug, points=points, count=count, command=command
            )
            tell(console, told)
        if idle := [login for login, own in grades.items() if slug in own and own[slug].idle]:
            names, command = some_of(idle, _SHOWN), f"grader grades explain {idle[0]} {slug}"
            tell(
                console,
                say(
                    "adjustments-of-missing-parts",
                    slug=slug,
                    count=len(idle),
                    names=names,
                    command=command,
                ),
            )


def _is_outdated(grade: Grade, rules: Rules) -> bool:
    """Say whether an assignment is worth other points than when it was graded."""
    is_graded = grade.points is not None and grade.settled
    return is_graded and grade.possible + grade.open != rules.points


def class_grades(
    slug: str, course: Path | None, console: Console
) -> list[tuple[Student, Grade | None]]:
    """Return everybody's grade in an assignment, of those who have not withdrawn.

    Tells of outdated ones. Raises UsageError where the gradebook has no such assignment.
    """
    with open_book(course) as book:
        rules = {slug: known_rules(book, slug)}
        students, accounts = book.students(), book.accounts()
    found = [(each, grades_of(accounts, each)) for each in students if each.withdrawn is None]
    tell_outdated(console, rules, {each.login: grades for each, grades in found})
    return [(each, grades.get(slug)) for each, grades in found]


@contextmanager
def counting_reports(
    slug: str, course: Path | None, console: Console
) -> Iterator[list[tuple[Student, Grade, Callable[[], Report] | None]]]:
    """Open who has handed in an assignment: the grade, and what reads the report that counts.

    Where nothing is graded, None stands in place of the reader. Students who have withdrawn are
    left out. A note says which grades are outdated.
    Raises UsageError where the gradebook has no such assignment.
    """
    with open_book(course) as book:
        rules = {slug: known_rules(book, slug)}
        counting = [*_counting(book, slug)]
        tell_outdated(console, rules, {each.login: {slug: grade} for each, grade, _ in counting})
        yield counting


def _counting(
    book: Gradebook, slug: str
) -> Iterator[tuple[Student, Grade, Callable[[], Report] | None]]:
    accounts = book.accounts()
    for student in book.students():
        own = accounts.get(student.id, {})
        if student.withdrawn is not None or slug not in own or not own[slug].attempts:
            continue
        grade = derive_all(own.values())[slug]
        counts = next((e for e in own[slug].attempts if e.number == grade.attempt), None)
        yield student, grade, None if counts is None else partial(_report_of, book, counts.id)


def _report_of(book: Gradebook, attempt: int) -> Report:
    report = book.report_of(attempt)
    if report is None:  # somebody was forgotten since the grades were read
        raise UsageError(say("gradebook-changed-in-meantime"), say("run-same-command-again"))
    return report


def show_student(word: str, course: Path | None, told: CommandOutput) -> None:
    """Tell all that is known of a student."""
    with open_book(course) as book:
        student = find_student(book.students(), word)
        accounts = book.accounts(student.id).get(student.id, {})
    grades = derive_all(accounts.values())
    found = {
        **_person(student),
        "assignments": {
            slug: {
                "grade": _brief(grades[slug]),
                "extensions": account.extensions,
                "objections": [objection_row(student, account, e) for e in account.objections],
                "attempts": account.attempts,
            }
            for slug, account in accounts.items()
        },
    }

    def people(console: Console) -> None:
        known = (student.login, student.name, student.email, student.section, student.github)
        tell(console, ", ".join(filter(None, known)))
        if student.withdrawn is not None:
            tell(console, say("withdrawn-since", time=told_time(student.withdrawn)))
        for slug, account in accounts.items():
            standing = _standing(grades[slug])
            tell(console, "", say("slug-standing", slug=slug, standing=standing))
            for indentation, entry in _story(account, grades[slug].attempt):
                tell(console, indentation + line(entry))
        if not accounts:
            tell(console, say("nobody-has-submitted-anything-gradable"))

    told.tell(found, people)


def explain_grade(word: str, slug: str, course: Path | None, told: CommandOutput) -> None:
    """Tell how a grade comes about, line by line."""
    with open_book(course) as book:
        rules = known_rules(book, slug)
        student = find_student(book.students(), word)
        account, grade = _now(book, student, rules)
    asked = objection_lines(account.objections, account.attempts, grade.attempt)
    found = {**_person(student), "assignment": slug, **_brief(grade), "lines": grade.lines}
    found["objections"] = [objection_row(student, account, each) for each in account.objections]
    lines = [one_line(each.in_(told.language)) for each in (*grade.lines, *asked)]
    told.tell(found, lambda console: tell(console, f"{student.login}, {student.name}", *lines))


def change_grade(
    word: str, slug: str, course: Path | None, told: CommandOutput, write: Decision
) -> None:
    """Write down a decision about one student's grade, and tell the grade before and after."""
    with open_book(course) as book:
        student = find_student(book.students(), word)
        found, lines = changed_grade(book, student, slug, write)
    told.tell(found, lambda console: tell(console, *lines))


def changed_grade(
    book: Gradebook, student: Student, slug: str, write: Decision
) -> tuple[dict[str, Any], list[Text]]:
    """Write down a decision; return what was found, and what is said of it."""
    rules = known_rules(book, slug)
    account, before = _now(book, student, rules)
    written = write(book, student, account, before)
    _, after = _now(book, student, rules)
    found = {**_person(student), "assignment": slug, **written}
    found |= {"before": before.points, "after": after.points}
    line = say(
        "before-now", login=student.login, slug=slug, before=_cell(before), after=_cell(after)
    )
    return found, [*filter(None, (written.get("told"), line))]


def _now(book: Gradebook, student: Student, rules: Rules) -> tuple[Account, Grade]:
    """Return what happened between a student and an assignment, and the grade of that."""
    accounts = book.accounts(student.id).get(student.id, {})
    account = accounts.get(rules.slug, Account(rules))
    return account, derive_all({**accounts, rules.slug: account}.values())[rules.slug]


def chosen_attempt(account: Account, number: int | None, part: str = "") -> Attempt:
    """Return an attempt by its number. Raises UsageError where there is none, or without the part.

    Points of a part that was renamed since would be recorded, told to the student, and not count.
    """
    for each in account.attempts:
        if each.number == number:
            graded = each.gradings[-1].parts if each.gradings else ()
            parts = tuple(own.id for own in graded) or account.rules.parts
            checked_part(part, account.rules.slug, parts)
            return each
    if number is None:
        raise UsageError(say("there-no-graded-attempt-adjust"), say("grade-grader-batch"))
    raise UsageError(
        say("there-no-attempt", number=number), say("there-sentence", count=len(account.attempts))
    )


def forget_student(word: str, course: Path | None, told: CommandOutput, *, sure: bool) -> None:
    """Delete a student with all that is known of them."""
    with open_book(course) as book:
        student = find_student(book.students(), word)
        if not sure:
            raise UsageError(
                say(
                    "would-deleted-with-all-files-and-grades",
                    login=student.login,
                    name=student.name,
                ),
                say("this-cannot-undone-confirm-add-yes"),
            )
        book.forget(student.id)
    line = say("forgotten-reports-in-folders-and-copies-gradebook", login=student.login)
    told.tell({"forgotten": student.login}, lambda console: tell(console, line))


def known_rules(book: Gradebook, slug: str) -> Rules:
    """Return what is known of an assignment. Raises UsageError that lists what there is."""
    return rules_named(book.rules(), slug)


def rules_named(rules: Mapping[str, Rules], slug: str) -> Rules:
    """Return the rules of an assignment. Raises UsageError that lists what there is."""
    if slug not in rules:
        raise unknown_assignment(slug, rules)
    return rules[slug]


def grades_of(accounts: Mapping[int, dict[str, Account]], student: Student) -> dict[str, Grade]:
    """Return a student's grades by assignment."""
    return derive_all(accounts.get(student.id, {}).values())


def _person(student: Student) -> dict[str, Any]:
    return {
        "student": student.login,
        "name": student.name,
        "email": student.email,
        "section": student.section,
        "github": student.github,
        "withdrawn": student.withdrawn,
    }


def objection_row(student: Student, account: Account, objection: Objection) -> dict[str, Any]:
    """Return an objection as JSON has it."""
    changes = account.adjustments
    return {
        "number": objection.id,
        "student": student.login,
        "assignment": account.rules.slug,
        "part": objection.part,
        "state": objection.state(changes),
        "points": objection.moved(changes),
        "text": objection.text,
        "by": objection.who,
        "time": objection.recorded,
        "answers": objection.replies,
    }


def _brief(grade: Grade) -> dict[str, Any]:
    late = grade.lateness
    return {
        "points": grade.points,
        "possible": grade.possible,
        "open": grade.open,
        "attempt": grade.attempt,
        "late_seconds": int(late.late_by.total_seconds()),
        "free_days": late.free_days,
        "lost_percent": late.percent,
        "settled": grade.settled,
        "parts": grade.parts,
    }


def _cell(grade: Grade | None) -> Text:
    if grade is None or grade.points is None:
        return foreign("–")
    return _with_remarks(foreign(show(grade.points)), grade)


def _standing(grade: Grade) -> Text:
    """Return "87 of 90, 10 not marked yet"."""
    possible = show(grade.possible)
    if grade.points is None:
        return say("points-possible", points="–", possible=possible)
    told = say("points-possible", points=show(grade.points), possible=possible)
    return _with_remarks(told, grade)


def _listed(grade: Grade | None, rules: Rules) -> Text:
    """Return a grade as a column has it: with what it is out of, where the heading says other."""
    if grade is None or not _is_outdated(grade, rules):
        return _cell(grade)
    return _standing(grade)


def _with_remarks(told: Text, grade: Grade) -> Text:
    if grade.open:
        told = in_a_row([told, say("points-not-marked-yet", points=show(grade.open))])
    return told if grade.settled else say("points-graded-again", points=told)


def told_number(value: Decimal | int | None) -> str:
    """Return a number as tables have it; a dash for none."""
    return "–" if value is None else show(Decimal(value))


def _story(account: Account, counts: int | None) -> Iterator[tuple[str, Text]]:
    for given in account.extensions:
        until = say("taken-back") if given.due is None else say("until", time=told_time(given.due))
        yield "  ", say("extension-by", until=until, who=given.who, reason=given.reason)
    for attempt in account.attempts:
        yield "  ", _handed_in(attempt)
        for grading in attempt.gradings:
            points = {"points": show(grading.score), "possible": show(grading.max_score)}
            time = told_time(grading.graded)
            yield "    ", say("graded-time-points-possible", time=time, **points)
        for entry in attempt.adjustments:
            yield "    ", _adjusted(entry)
    for each in objection_lines(account.objections, account.attempts, counts):
        yield "  ", each


def _handed_in(attempt: Attempt) -> Text:
    if attempt.handed_in is None:
        return say("attempt-number-name", number=attempt.number, name=attempt.name)
    return say(
        "attempt-handed-in",
        number=attempt.number,
        name=attempt.name,
        time=told_time(attempt.handed_in),
    )


def _adjusted(entry: Adjustment) -> Text:
    told: dict[str, Value] = {"id": entry.id, "who": entry.who, "reason": entry.reason}
    if entry.takes_back is not None:
        return say("adjustment-takes-back", other=entry.takes_back, **told)
    part = entry.part or say("all-2")
    if entry.factor is not None:
        return say("adjustment-times-by", part=part, factor=str(entry.factor), **told)
    return say("adjustment-by", part=part, points=signed(entry.points or NONE), **told)


def _class_table(
    students: Iterable[Student], rules: Mapping[str, Rules], grades: Mapping[str, dict[str, Grade]]
) -> Table:
    table = plain_table(say("student"), say("name"), say("section"))
    for name, each in rules.items():
        heading = say("slug-points", slug=name, points=show(each.points))
        table.add_column(words(heading), justify="right", overflow="fold")
    for student in students:
        own = grades[student.login]
        cells = (words(_listed(own.get(name), each)) for name, each in rules.items())
        row = (student.login, student.name, student.section, *cells)
        table.add_row(*(Styled(one_line(cell)) for cell in row))
    return table


def plain_table(*columns: Text) -> Table:
    """Return a table without lines beside it; its columns fold."""
    return pieces.plain_table(*map(words, columns))
