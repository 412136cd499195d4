"""What `grader objections` does: enter what students ask, list it, and answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
from rich.console import Console
from rich.text import Text as Styled

from grader.cli.gradebook import open_book
from grader.cli.student_grades import (
    changed_grade,
    chosen_attempt,
    known_rules,
    objection_row,
    plain_table,
    rules_named,
)
from grader.cli.telling import CommandOutput, tell, words
from grader.errors import UsageError
from grader.gradebook.book import Gradebook
from grader.gradebook.entries import Attempt, Student, find_student, folded, signed
from grader.gradebook.grades import Account, Grade, Rules
from grader.gradebook.objections import (
    NewObjection,
    Objection,
    ObjectionState,
    checked_part,
    checked_text,
    told_time,
)
from grader.language import Text, in_a_row, say
from grader.render.wording import one_line
from grader.tables import read_table

STATE_NAMES: Final[dict[ObjectionState, Text]] = {
    "open": say("open"),
    "answered": say("answered"),
    "moved": say("moved"),
}

_COLUMNS: Final = {
    "student": ("student", "login", "id"),
    "assignment": ("assignment", "slug"),
    "part": ("part",),
    "text": ("text", "objection", "question"),
}
"""What columns of a table of objections are called."""

_MOST = 5_000
"""Rows of such a table."""


class Asked(NamedTuple):
    """An objection with whose it is, and all that happened."""

    student: Student
    account: Account
    objection: Objection

    @property
    def state(self) -> ObjectionState:
        """How it stands."""
        return self.objection.state(self.account.adjustments)

    @property
    def moved(self) -> Decimal:
        """The points that it moved."""
        return self.objection.moved(self.account.adjustments)


def asked_by(
    students: Iterable[Student], accounts: Mapping[int, dict[str, Account]]
) -> list[Asked]:
    """Return what students ask, in the order in which it was entered."""
    found = [
        Asked(student, account, each)
        for student in students
        for account in accounts.get(student.id, {}).values()
        for each in account.objections
    ]
    return sorted(found, key=lambda each: each.objection.id)


def _every(book: Gradebook) -> list[Asked]:
    return asked_by(book.students(), book.accounts())


def list_objections(
    slug: str | None, state: ObjectionState | None, course: Path | None, told: CommandOutput
) -> None:
    """Tell which objections there are, and how they stand."""
    with open_book(course) as book:
        if slug is not None:
            known_rules(book, slug)
        every = [each for each in _every(book) if slug in (None, each.account.rules.slug)]
    shown = [each for each in every if state in (None, each.state)]

    def people(console: Console) -> None:
        if shown:
            console.print(_table(shown))
        tell(console, told_states(count_states(every)))

    told.tell({"objections": [objection_row(*each) for each in shown]}, people)


def _table(shown: list[Asked]) -> Any:
    table = plain_table(
        *(say("no-sentence"), say("student"), say("assignment"), say("part"), say("asked")),
        *(say("state"), say("question")),
    )
    for column in table.columns[:2]:
        column.no_wrap = True
    for each in shown:
        asked, state = each.objection, words(STATE_NAMES[each.state])
        if each.state == "moved":
            state = f"{state} {signed(each.moved)}"
        whose = (each.student.login, each.account.rules.slug, asked.part or "–")
        cells = (str(asked.id), *whose, asked.recorded.date().isoformat(), state, asked.text)
        table.add_row(*(Styled(one_line(cell)) for cell in cells))
    return table


def told_states(counts: Mapping[str, int]) -> Text:
    """Say how many objections stand how."""
    return say("objections-open-answered-with-points-moved", **counts)


def count_states(every: Iterable[Asked]) -> dict[str, int]:
    """Return how many objections stand how."""
    counts = Counter(each.state for each in every)
    return {state: counts[state] for state in STATE_NAMES}


def add_objection(
    word: str, slug: str, part: str, text: str, who: str, course: Path | None, told: CommandOutput
) -> None:
    """Enter one objection, and tell its number."""
    with open_book(course) as book:
        parts = known_rules(book, slug).parts
        student = find_student(book.students(), word)
        new = NewObjection(student.id, slug, checked_part(part, slug, parts), checked_text(text))
        ((number, is_new),) = book.enter_objections([new], who=who)
    line = (
        say("objection-entered", number=number, login=student.login)
        if is_new
        else say("objection-says-same", number=number, login=student.login)
    )
    found = {"number": number, "student": student.login, "assignment": slug, "part": part}
    told.tell({**found, "new": is_new}, lambda console: tell(console, line))


def import_objections(
    path: Path, slug: str | None, who: str, course: Path | None, told: CommandOutput
) -> None:
    """Enter the objections of a table: all, or none where one cannot be."""
    rows = [*_read_rows(path, slug)]
    with open_book(course) as book:
        students, rules = book.students(), book.rules()
        new = [_objection_of(rules, students, path, row) for row in rows]
        entered = book.enter_objections(new, who=who)
    added = [number for number, is_new in entered if is_new]
    line = say("objections-in-new", count=len(entered), file=path.name, added=len(added))
    told.tell({"new": added, "known": len(entered) - len(added)}, lambda c: tell(c, line))


class _Row(NamedTuple):
    line: int
    student: str
    assignment: str
    part: str
    text: str


def _read_rows(path: Path, slug: str | None) -> Iterator[_Row]:
    table = read_table(path)
    header = [folded(each) for each in table.header]
    columns = {
        field: header.index(name)
        for field, names in _COLUMNS.items()
        for name in [next((each for each in names if each in header), None)]
        if name is not None
    }
    wanted = ["student", "text"] if slug else ["student", "assignment", "text"]
    if missing := [each for each in wanted if each not in columns]:
        raise UsageError(
            say("has-no-column", file=path.name, names=in_a_row(missing)),
            say("needs-columns-called-student-assignment-or-assignment"),
        )
    if len(table.rows) > _MOST:
        raise UsageError(
            say("has-more-than-rows", file=path.name, most=_MOST), say("this-file-one-class")
        )
    for line, row in zip(table.lines, table.rows, strict=True):
        told = {field: row[at] for field, at in columns.items()}
        named = told.get("assignment", "").strip() or slug or ""
        yield _Row(line, told["student"], named, told.get("part", "").strip(), told["text"])


def _objection_of(
    rules: Mapping[str, Rules], students: tuple[Student, ...], path: Path, row: _Row
) -> NewObjection:
    """Return what a row says. Raises UsageError that names its line."""
    try:
        parts = rules_named(rules, row.assignment).parts
        student = find_student(students, row.student, by=("login", "email"))
        part = checked_part(row.part, row.assignment, parts)
        return NewObjection(student.id, row.assignment, part, checked_text(row.text))
    except UsageError as error:
        told = say("file-line-error", file=path.name, line=row.line, error=error.message)
        raise UsageError(told, error.hint) from None


class AnswerOptions(msgspec.Struct, frozen=True):
    """An answer: its text, its author, and the points that it moves."""

    number: int
    text: str
    who: str
    points: Decimal | None = None
    attempt: int | None = None
    again: bool = False


def answer_objection(options: AnswerOptions, course: Path | None, told: CommandOutput) -> None:
    """Answer an objection, and tell the grade before and after where points are moved."""
    text = checked_text(options.text)
    with open_book(course) as book:
        asked = _asked(book, options.number)
        seen = len(asked.objection.replies)
        if seen and not options.again:
            last = asked.objection.replies[-1]
            raise UsageError(
                say(
                    "objection-has-been-answered",
                    number=options.number,
                    who=last.who,
                    time=told_time(last.recorded),
                ),
                say("answer-once-more-add-again"),
            )

        def write(
            book: Gradebook, student: Student, account: Account, grade: Grade
        ) -> dict[str, Any]:
            del student
            attempt = None
            if options.points is not None:
                attempt = chosen_attempt(
                    account, options.attempt or grade.attempt, asked.objection.part
                )
                _refuse_unmarked(attempt, asked.objection.part)
            number = book.answer_objection(
                options.number,
                text,
                seen=seen,
                who=options.who,
                attempt=None if attempt is None else attempt.id,
                points=options.points,
            )
            said = say("objection-answered", number=options.number)
            return {"objection": options.number, "adjustment": number, "told": said}

        found, lines = changed_grade(book, asked.student, asked.account.rules.slug, write)
    told.tell(found, lambda console: tell(console, *lines))


def _refuse_unmarked(attempt: Attempt, part: str) -> None:
    """Refuse points for a part that a person has yet to mark: they would be its marking."""
    graded = attempt.gradings[-1].parts if attempt.gradings else ()
    is_open = any(each.id == part and each.open for each in graded)
    if is_open and not attempt.given(part):
        raise UsageError(
            say("part-not-marked-yet-so-no-points", part=part),
            say("mark-it-first", command="grader mark"),
        )


def _asked(book: Gradebook, number: int) -> Asked:
    """Return an objection by its number. Raises UsageError where there is none."""
    for each in _every(book):
        if each.objection.id == number:
            return each
    raise UsageError(say("there-no-objection", number=number), say("see-grader-objections-list"))
