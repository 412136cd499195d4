"""`grader grades agreement`: how far two people agree who marked the same answers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text as Styled

from grader.cli.gradebook import CommandOutput, open_book
from grader.cli.student_grades import known_rules, plain_table
from grader.cli.telling import tell
from grader.gradebook.entries import show
from grader.language import say
from grader.marking.agreement import Agreement, MarkedTwice, agreements, marked_twice
from grader.render.wording import one_line


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
        equal = f"{each.equal_percent:.0f} %"
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
