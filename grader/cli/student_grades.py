"""Grades as instructors ask for them: of all, of one, how they come about, what is decided."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text as Styled

from grader.cli.gradebook import Told, open_book, print_lines
from grader.errors import UsageError
from grader.gradebook.book import Gradebook
from grader.gradebook.entries import Adjustment, rounded, show
from grader.gradebook.grades import Account, Grade, Rules, derive_all, told_time
from grader.gradebook.roster import Student, find_student
from grader.render.wording import count, one_line

_FIGURES = {
    "graded": "Graded",
    "missing": "Missing",
    "lowest": "Low",
    "quarter": "25 %",
    "median": "Median",
    "three_quarters": "75 %",
    "highest": "High",
    "mean": "Mean",
}
"""What is told of a class, and what people read it under."""

Decision = Callable[[Gradebook, Student, Account, Grade], dict[str, Any]]
"""Writes a decision down, given whose grade it is and how that came about; returns what it was."""


def list_grades(
    slug: str | None, section: str | None, course: Path | None, told: Told, *, everybody: bool
) -> None:
    """Tell everybody's grades."""
    with open_book(course) as book:
        if slug is not None:
            _known(book, slug)
        rules = {each.slug: each for each in book.rules().values() if slug in (None, each.slug)}
        students, accounts = book.students(), book.accounts()
    shown = [
        each
        for each in students
        if (everybody or each.withdrawn is None) and section in (None, each.section)
    ]
    grades = {each.login: _grades_of(accounts, each) for each in shown}
    rows = [
        {
            **_person(each),
            "grades": {
                name: _brief(grade) for name, grade in grades[each.login].items() if name in rules
            },
        }
        for each in shown
    ]

    def people(console: Console) -> None:
        console.print(_class_table(shown, rules, grades))
        graded = sum(any(map(_is_graded, found.values())) for found in grades.values())
        print_lines(console, f"{count(len(shown), 'student')}, {graded} with a grade.")
        if not students:
            print_lines(console, "The roster is empty: grader roster import FILE")

    told.tell({"assignments": [*rules.values()], "students": rows}, people)


def class_grades(slug: str, course: Path | None) -> list[tuple[Student, Grade | None]]:
    """Return everybody's grade in an assignment, of those who have not withdrawn.

    Raises UsageError where the gradebook has no such assignment.
    """
    with open_book(course) as book:
        _known(book, slug)
        students, accounts = book.students(), book.accounts()
    present = [each for each in students if each.withdrawn is None]
    return [(each, _grades_of(accounts, each).get(slug)) for each in present]


def show_student(word: str, course: Path | None, told: Told) -> None:
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
                "attempts": account.attempts,
            }
            for slug, account in accounts.items()
        },
    }

    def people(console: Console) -> None:
        words = (student.login, student.name, student.email, student.section, student.github)
        print_lines(console, ", ".join(filter(None, words)))
        if student.withdrawn is not None:
            print_lines(console, f"Withdrawn since {told_time(student.withdrawn)}.")
        for slug, account in accounts.items():
            print_lines(console, "", f"{slug}: {_standing(grades[slug])}")
            print_lines(console, *(f"  {line}" for line in _story(account)))
        if not accounts:
            print_lines(console, "Nothing has been handed in.")

    told.tell(found, people)


def explain_grade(word: str, slug: str, course: Path | None, told: Told) -> None:
    """Tell how a grade comes about, line by line."""
    with open_book(course) as book:
        rules = _known(book, slug)
        student = find_student(book.students(), word)
        accounts = book.accounts(student.id).get(student.id, {})
    account = accounts.get(slug, Account(rules))
    grade = derive_all({**accounts, slug: account}.values())[slug]
    found = {**_person(student), "assignment": slug, **_brief(grade), "lines": grade.lines}
    lines = [one_line(each.in_(told.language)) for each in grade.lines]
    told.tell(
        found, lambda console: print_lines(console, f"{student.login}, {student.name}", *lines)
    )


def change_grade(word: str, slug: str, course: Path | None, told: Told, write: Decision) -> None:
    """Write down a decision about one student's grade, and tell the grade before and after."""
    with open_book(course) as book:
        rules = _known(book, slug)
        student = find_student(book.students(), word)

        def now() -> tuple[Account, Grade]:
            accounts = book.accounts(student.id).get(student.id, {})
            account = accounts.get(slug, Account(rules))
            return account, derive_all({**accounts, slug: account}.values())[slug]

        account, before = now()
        written = write(book, student, account, before)
        _, after = now()
    found = {**_person(student), "assignment": slug, **written}
    found |= {"before": before.points, "after": after.points}
    line = f"{student.login}, {slug}: {_cell(before)} before, {_cell(after)} now."
    said = written.get("told")
    told.tell(found, lambda console: print_lines(console, *filter(None, (said, line))))


def forget_student(word: str, course: Path | None, told: Told, *, sure: bool) -> None:
    """Delete a student with all that is known of them."""
    with open_book(course) as book:
        student = find_student(book.students(), word)
        if not sure:
            raise UsageError(
                f"{student.login}, {student.name}, would be deleted with all files and grades.",
                "That cannot be taken back. If you mean it, add --yes.",
            )
        book.forget(student.id)
    line = (
        f"{student.login} is forgotten. Reports in folders, and copies of the gradebook, are not."
    )
    told.tell({"forgotten": student.login}, lambda console: print_lines(console, line))


def tell_stats(slug: str | None, course: Path | None, told: Told) -> None:
    """Tell how the class did, without those who have withdrawn."""
    with open_book(course) as book:
        if slug is not None:
            _known(book, slug)
        students = [each for each in book.students() if each.withdrawn is None]
        accounts, rules = book.accounts(), book.rules()
    grades = [_grades_of(accounts, each) for each in students]
    found = {
        name: _numbers([each[name] for each in grades if name in each], len(students))
        for name in rules
        if slug in (None, name)
    }

    def people(console: Console) -> None:
        table = _table("Assignment")
        table.columns[0].no_wrap = True
        for title in _FIGURES.values():
            table.add_column(title, justify="right", overflow="fold")
        for name, numbers in found.items():
            cells = (numbers[each] for each in _FIGURES)
            table.add_row(name, *(_number(each) for each in cells))
        console.print(table)

    told.tell(found, people)


def _numbers(grades: Iterable[Grade], students: int) -> dict[str, Any]:
    """Return how grades are distributed: quartiles with ends, and means, also of parts."""
    graded = [each for each in grades if each.points is not None]
    points = sorted(each.points for each in graded if each.points is not None)
    found: dict[str, Any] = {"graded": len(points), "missing": students - len(points)}
    cuts: list[Decimal | None] = [None] * 3
    if points:
        several = points if len(points) > 1 else points * 2
        cuts = [*map(rounded, statistics.quantiles(several, n=4, method="inclusive"))]
    parts: dict[str, list[Decimal]] = {}
    for each in graded:
        for part in each.parts:
            parts.setdefault(part.id, []).append(part.score)
    return {
        **found,
        "lowest": points[0] if points else None,
        "quarter": cuts[0],
        "median": cuts[1],
        "three_quarters": cuts[2],
        "highest": points[-1] if points else None,
        "mean": rounded(statistics.mean(points)) if points else None,
        "parts": {id: rounded(statistics.mean(scores)) for id, scores in parts.items()},
    }


def _known(book: Gradebook, slug: str) -> Rules:
    rules = book.rules()
    if slug not in rules:
        known = ", ".join(rules) or "none"
        raise UsageError(f"The gradebook has no assignment {slug!r}.", f"There is: {known}.")
    return rules[slug]


def _grades_of(accounts: Mapping[int, dict[str, Account]], student: Student) -> dict[str, Grade]:
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


def _is_graded(grade: Grade) -> bool:
    return grade.points is not None


def _cell(grade: Grade | None) -> str:
    if grade is None or grade.points is None:
        return "–"
    open_points = f", {show(grade.open)} not marked yet" if grade.open else ""
    return show(grade.points) + open_points + ("" if grade.settled else " (to be graded again)")


def _standing(grade: Grade) -> str:
    """Return "87 of 90, 10 not marked yet"."""
    first, *more = _cell(grade).split(", ")
    return ", ".join([f"{first} of {show(grade.possible)}", *more])


def _number(value: Decimal | int | None) -> str:
    return "–" if value is None else show(Decimal(value))


def _story(account: Account) -> Iterator[str]:
    """Yield what happened, a line for each entry."""
    for given in account.extensions:
        until = "taken back" if given.due is None else f"until {told_time(given.due)}"
        yield one_line(f"extension {until}, by {given.who}: {given.reason}")
    for attempt in account.attempts:
        when = "" if attempt.handed_in is None else f", handed in {told_time(attempt.handed_in)}"
        yield one_line(f"attempt {attempt.number}: {attempt.name}{when}")
        for grading in attempt.gradings:
            points = f"{show(grading.score)} of {show(grading.max_score)}"
            yield f"  graded {told_time(grading.graded)}: {points}"
        for entry in attempt.adjustments:
            yield one_line(
                f"  adjustment {entry.id}{_change(entry)}, by {entry.who}: {entry.reason}"
            )


def _change(entry: Adjustment) -> str:
    if entry.takes_back is not None:
        return f" takes back {entry.takes_back}"
    what = f"times {entry.factor}" if entry.factor is not None else f"{entry.points:+f}"
    return f": {entry.part or 'all'} {what}"


def _class_table(
    students: Iterable[Student], rules: Mapping[str, Rules], grades: Mapping[str, dict[str, Grade]]
) -> Table:
    table = _table("Student", "Name", "Section")
    for name, each in rules.items():
        heading = f"{name}\nof {show(each.points)}"
        table.add_column(heading, justify="right", overflow="fold")
    for student in students:
        cells = (_cell(grades[student.login].get(name)) for name in rules)
        words = (student.login, student.name, student.section, *cells)
        table.add_row(*(Styled(one_line(word)) for word in words))
    return table


def _table(*columns: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="dim")
    for name in columns:
        table.add_column(name, overflow="fold")
    return table
