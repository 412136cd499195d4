"""A class's figures as JSON and as a table: the numbers of the page, all of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from grader.insights.figures import Ids, Insights
from grader.language import ENGLISH, Text
from grader.tables import harmless, write_table

_HEADER = ("figure", "part", "item", "value", "students", "who")

_Row = tuple[str, str, str, str, str, str]


def encode_insights(insights: Insights, language: str = ENGLISH) -> bytes:
    """Return the figures as indented JSON, ending in a newline; its texts are in a language."""
    return msgspec.json.format(msgspec.json.encode(told(insights, language)), indent=2) + b"\n"


def told(insights: Insights, language: str = ENGLISH) -> object:
    """Return the figures as JSON has them, with their texts in a language."""

    def say_it(value: object) -> str:
        if isinstance(value, Text):
            return value.in_(language)
        raise NotImplementedError(type(value).__name__)

    plain = msgspec.to_builtins(insights, enc_hook=say_it)
    return _whole(plain)


def _whole(value: object) -> object:
    """Return it with whole characters: half of a surrogate pair can be in what a student wrote."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_whole(key): _whole(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_whole(item) for item in value]
    return value


def insights_table(insights: Insights, language: str = ENGLISH) -> bytes:
    """Return the figures as CSV, a line for each: how many students, and who.

    Nothing in it is a formula to a spreadsheet.
    """
    rows = ([harmless(_line(each)) for each in row] for row in _rows(insights, language))
    return write_table(_HEADER, rows)


def _line(text: str) -> str:
    return " ".join(text.encode("utf-8", "replace").decode().split())


def _rows(insights: Insights, language: str) -> Iterator[_Row]:
    numbers = msgspec.structs.asdict(insights.numbers)
    for name, value in numbers.items():
        yield _row("points", "", name, _number(value), ())
    for each in insights.bins:
        yield _row("points from to", "", f"{each.low:g}..{each.high:g}", "", each.students)
    yield from _check_rows(insights)
    for mistake in insights.mistakes:
        example = mistake.example.in_(language)
        yield _row("mistake", " ".join(mistake.parts), mistake.mistake, example, mistake.students)
    for failure in insights.failures:
        yield _row("error", failure.place, failure.error, failure.example, failure.students)
    yield from _time_rows(insights)
    for concern in insights.concerns:
        for reason in concern.reasons:
            told = reason.why.in_(language)
            yield _row("look", "", reason.kind, told, (concern.student,))
    for student in insights.students:
        made = " ".join(filter(None, student.mistakes))
        yield _row("student", "", made, _number(student.points), (student.person.id,))
    for person in insights.missing:
        yield _row("missing", "", "", "", (person.id,))


def _check_rows(insights: Insights) -> Iterator[_Row]:
    for part in insights.parts:
        yield _row("part", part.id, "", _number(part.mean), ())
        for check in part.checks:
            for verdict, who in check.verdicts.items():
                yield _row(f"check {verdict}", part.id, check.id, "", who)
            for code in check.codes:
                yield _row("check code", part.id, check.id, code.code, code.students)


def _time_rows(insights: Insights) -> Iterator[_Row]:
    for group in insights.speeds:
        for each in group.rows:
            interval = f"{each.speedup:.4f} ({each.low:.4f} to {each.high:.4f})"
            yield _row("speed-up", group.function, group.machine, interval, (each.student,))
    for attempt in insights.attempts:
        median = _number(attempt.median)
        yield _row("attempt", "", str(attempt.number), median, attempt.students)
    for day in insights.days:
        yield _row("handed in", "", day.day, str(day.attempts), day.students)
    for stage in insights.stages:
        yield _row("seconds", "", stage.stage, f"{stage.median:.3f}", ())


def _row(figure: str, part: str, item: str, value: str, who: Ids | Iterable[str]) -> _Row:
    ids = tuple(who)
    return figure, part, item, value, str(len(ids)) if ids else "", " ".join(ids)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:g}"
