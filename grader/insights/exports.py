"""A class's figures as JSON and as a table, all of the page's numbers; and its leaderboard."""

import secrets
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Literal

import msgspec

from grader.files import indented_json
from grader.insights.figures import Ids, Insights, SpeedRow
from grader.insights.observation import Speed
from grader.language import ENGLISH, Text
from grader.report import Frozen
from grader.report.document import encodable
from grader.tables import write_table

_HEADER = ("figure", "part", "item", "value", "students", "who")

_Row = tuple[str, str, str, str, str, str]


def encode_insights(insights: Insights, language: str = ENGLISH) -> bytes:
    """Return the figures as indented JSON, ending in a newline; its texts are in a language."""
    return indented_json(told(insights, language))


def told(insights: Insights, language: str = ENGLISH) -> object:
    """Return the figures as JSON has them, with their texts in a language."""

    def say_it(value: object) -> str:
        if isinstance(value, Text):
            return value.in_(language)
        raise NotImplementedError(type(value).__name__)

    return encodable(msgspec.to_builtins(insights, enc_hook=say_it))


def insights_table(insights: Insights, language: str = ENGLISH) -> bytes:
    """Return the figures as CSV, a line for each; no spreadsheet finds a formula in it."""
    rows = (map(_line, row) for row in _rows(insights, language))
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
    for asked in insights.objections:
        yield _row("objection", asked.part, asked.state, str(asked.count), asked.students)
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


# Ranks of schedules by their speed-up: of who wants to be in it, under names of their own.


_FIRST = "amber brisk calm clever eager gentle happy jolly keen lively lucky nimble quick swift"
_SECOND = "badger crane falcon finch fox gecko heron ibex lynx marten otter owl raven robin wren"


class Standing(Frozen, frozen=True):
    """A line: nobody is surely faster than rank 1; ties share a rank."""

    rank: int
    name: str
    speedup: float
    low: float
    high: float


class Leaderboard(Frozen, frozen=True):
    """The ranks on one kind of machine. `elsewhere` counts who was measured on another one."""

    assignment: str
    machine: str
    function: str
    reference: float
    rows: tuple[Standing, ...]
    elsewhere: int = 0
    schema_version: Literal[1] = 1


def made_up(taken: Collection[str]) -> str:
    """Return a name that nobody has, and that tells nothing of who has it."""
    while True:
        words = secrets.choice(_FIRST.split()), secrets.choice(_SECOND.split())
        name = f"{words[0]} {words[1]} {secrets.randbelow(900) + 100}"
        if name not in taken:
            return name


def leaderboard(
    slug: str, speeds: Iterable[tuple[str, Speed]], names: Mapping[str, str], machine: str = ""
) -> Leaderboard | None:
    """Return the ranks of the students who have a name here, each with the best of their speeds.

    They are of one kind of machine: of those that have `machine` in their description, the one on
    which most were measured. None where nobody was.
    """
    groups: dict[tuple[str, str], dict[str, Speed]] = {}
    for student, speed in speeds:
        if student not in names:
            continue
        own = groups.setdefault((speed.machine, speed.function), {})
        if student not in own or own[student].speedup < speed.speedup:
            own[student] = speed
    found = {key: own for key, own in groups.items() if machine.casefold() in key[0].casefold()}
    if not found:
        return None
    key = max(sorted(found), key=lambda each: len(found[each]))
    rows = [SpeedRow(who, e.speedup, e.low, e.high) for who, e in found[key].items()]
    everybody = {student for own in groups.values() for student in own}
    references = sorted(each.reference for each in found[key].values())
    return Leaderboard(
        slug,
        *key,
        references[len(references) // 2],
        tuple(_standings(rows, names)),
        len(everybody - found[key].keys()),
    )


def _standings(rows: Iterable[SpeedRow], names: Mapping[str, str]) -> list[Standing]:
    """Return ranks: one more than there are who are surely faster, whose interval lies above."""
    every = list(rows)
    standings = [
        Standing(
            1 + sum(other.low > each.high for other in every),
            names[each.student],
            *(round(number, 2) for number in (each.speedup, each.low, each.high)),
        )
        for each in every
    ]
    return sorted(standings, key=lambda each: (each.rank, -each.speedup, each.name))
