"""Ranks of schedules by their speed-up: of who wants to be in it, under names of their own."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Iterable, Mapping
from typing import Literal

import msgspec

from grader.insights.figures import SpeedRow
from grader.insights.observation import Speed
from grader.report import Frozen

_FIRST = "amber brisk calm clever eager gentle happy jolly keen lively lucky nimble quick swift"
_SECOND = "badger crane falcon finch fox gecko heron ibex lynx marten otter owl raven robin wren"


class Standing(Frozen, frozen=True):
    """A line: nobody is surely faster than rank 1; who cannot be told apart shares a rank."""

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


def encode_leaderboard(board: Leaderboard) -> bytes:
    """Return the ranks as indented JSON, ending in a newline."""
    return msgspec.json.format(msgspec.json.encode(board), indent=2) + b"\n"
