"""`grader grades stats` and `agreement`: how a class did, and how far two markers agree."""

import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text as Styled

from grader.cli.class_reports import ClassOptions
from grader.cli.gradebook import open_book
from grader.cli.insights import class_insights
from grader.cli.objecting import STATE_NAMES, asked_by, count_states, told_states
from grader.cli.student_grades import (
    grades_of,
    handed_in_slugs,
    known_rules,
    plain_table,
    tell_outdated,
    tell_rest,
    told_number,
)
from grader.cli.telling import CommandOutput, tell, words
from grader.gradebook.entries import rounded, show
from grader.gradebook.grades import Grade
from grader.insights.exports import told as told_insights
from grader.insights.figures import Insights
from grader.language import foreign, say
from grader.marking.agreement import Agreement, MarkedTwice, agreements, marked_twice
from grader.render.html.class_page import CONCERNS
from grader.render.wording import MISTAKE_NAMES, one_line

_FIGURES = {
    "graded": say("graded"),
    "missing": say("missing"),
    "lowest": say("low"),
    "quarter": foreign("25%"),
    "median": say("median"),
    "three_quarters": foreign("75%"),
    "highest": say("high"),
    "mean": say("mean"),
}
"""What is told of a class, and what people read it under."""


def tell_stats(slug: str | None, course: Path | None, told: CommandOutput) -> None:
    """Tell how the class did, without those who have withdrawn; of one assignment also what went
    wrong, with the numbers of `grader insights`.
    """
    with open_book(course) as book:
        if slug is not None:
            known_rules(book, slug)
        students = [each for each in book.students() if each.withdrawn is None]
        accounts, rules = book.accounts(), book.rules()
    grades = {each.login: grades_of(accounts, each) for each in students}
    given = handed_in_slugs(accounts, students)
    found = {
        name: _numbers([each[name] for each in grades.values() if name in each], len(students))
        for name in rules
        if slug in (None, name)
    }
    asked = asked_by(students, accounts)
    for name, numbers in found.items():
        own = [each for each in asked if each.account.rules.slug == name]
        numbers["objections"] = count_states(own)
    has_some = slug is not None and found[slug]["graded"]
    insights = class_insights(ClassOptions(slug, course=course)) if has_some else {}

    shown = {name: each for name, each in found.items() if name in given or slug}

    def people(console: Console) -> None:
        if shown:
            console.print(_table(shown))
        tell_rest(console, found, shown)
        tell_outdated(console, {name: rules[name] for name in shown}, grades)
        _tell_objections(console, [each["objections"] for each in found.values()])
        for each in insights.values():
            _tell_insights(console, each)

    for name, each in insights.items():
        found[name]["insights"] = told_insights(each, told.language)
    told.tell(found, people)


def _table(shown: Mapping[str, dict[str, Any]]) -> Any:
    table = plain_table(say("assignment"))
    table.columns[0].no_wrap = True
    for title in _FIGURES.values():
        table.add_column(words(title), justify="right", overflow="fold")
    for name, numbers in shown.items():
        table.add_row(name, *(told_number(numbers[each]) for each in _FIGURES))
    return table


def _tell_objections(console: Console, counts: Iterable[dict[str, int]]) -> None:
    total = sum(map(Counter, counts), Counter[str]())
    if total:
        tell(console, told_states({state: total[state] for state in STATE_NAMES}))


def _tell_insights(console: Console, insights: Insights) -> None:
    checks = plain_table(say("part"), say("check"))
    for title in (say("passed"), say("mean"), say("maximum")):
        checks.add_column(words(title), justify="right", overflow="fold")
    for part in insights.parts:
        for check in part.checks:
            passed = f"{len(check.verdicts.get('passed', ()))}/{check.count}"
            points = (f"{check.mean:.4g}", f"{check.max_score:g}")
            names = (part.id, one_line(words(check.title)))
            checks.add_row(*map(Styled, (*names, passed, *points)))
    counted = plain_table(say("what-misunderstood"))
    counted.add_column(words(say("students")), justify="right")
    for row in insights.mistakes:
        counted.add_row(Styled(words(MISTAKE_NAMES[row.mistake])), str(len(row.students)))
    for failure in insights.failures:
        name = one_line(": ".join(filter(None, (failure.error, failure.place))))
        counted.add_row(Styled(name), str(len(failure.students)))
    looks = plain_table(say("review"), say("reason"))
    for concern in insights.concerns:
        kinds = dict.fromkeys(each.kind for each in concern.reasons)  # one of two parts, once
        reasons = (words(CONCERNS[each]) for each in kinds)
        looks.add_row(Styled(one_line(concern.student)), Styled(", ".join(reasons)))
    for table in (checks, counted, looks):
        if table.row_count:
            console.print()
            console.print(table)


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


# `grader grades agreement`: two people who marked the same answers.


def tell_agreement(slug: str, course: Path | None, told: CommandOutput) -> None:
    """Tell the agreement on each part, and the answers on which two differ."""
    with open_book(course) as book:
        known_rules(book, slug)
        marked = marked_twice(book, slug)
    parts = agreements(marked)
    differ = [each for each in marked if each.first != each.second]

    def people(console: Console) -> None:
        if not parts:
            tell(console, say("no-answer-marked-twice"))
            return
        console.print(_parts_table(parts))
        if differ:
            console.print()
            console.print(_answers_table(differ))

    found = {"parts": [_part_row(e) for e in parts], "different": [_answer_row(e) for e in differ]}
    told.tell(found, people)


def _parts_table(parts: Sequence[Agreement]) -> Any:
    table = plain_table(
        *(say("part"), say("marked-twice"), say("equal"), say("mean-difference"), say("kappa"))
    )
    for each in parts:
        kappa = "–" if each.kappa is None else f"{each.kappa:.2f}"
        equal = f"{each.equal_percent:.0f}%"
        table.add_row(
            *map(Styled, (each.part, str(each.answers), equal, f"{each.difference:+.2f}", kappa))
        )
    return table


def _answers_table(differ: Sequence[MarkedTwice]) -> Any:
    table = plain_table(
        say("student"), say("attempt"), say("part"), say("first-marking"), say("second-marking")
    )
    for each in differ:
        first = f"{show(each.first)} ({each.first_by})"
        second = f"{show(each.second)} ({each.second_by})"
        cells = (each.student.login, str(each.attempt.number), each.part, first, second)
        table.add_row(*(Styled(one_line(cell)) for cell in cells))
    return table


def _part_row(each: Agreement) -> dict[str, Any]:
    return {
        "part": each.part,
        "answers": each.answers,
        "equal": each.equal,
        "equal_percent": round(each.equal_percent, 2),
        "mean_difference": round(each.difference, 4),
        "weighted_kappa": None if each.kappa is None else round(each.kappa, 4),
    }


def _answer_row(each: MarkedTwice) -> dict[str, Any]:
    return {
        "student": each.student.login,
        "attempt": each.attempt.number,
        "part": each.part,
        "first": {"points": each.first, "by": each.first_by},
        "second": {"points": each.second, "by": each.second_by},
    }
