"""Which cluster, and which of its workers may grade: those with the versions that are here,
isolated as is asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import msgspec

from grader.cluster.messages import WorkerFacts
from grader.language import NOTHING, Text, in_clauses, say
from grader.sandbox.interface import LEVELS, Level

PATIENCE_SECONDS = 60.0
"""How long to wait for a worker that may grade, or for a scheduler that is out of reach."""


class ClusterOptions(msgspec.Struct, frozen=True):
    """Where the scheduler is, and what is asked of its workers."""

    address: str
    insecure: bool = False
    same_machine_type: bool = False
    patience: float = PATIENCE_SECONDS


class Wanted(NamedTuple):
    """What a worker must have: the versions of `like`, and an isolation that is as strong as
    `minimum`, or just `level` where one was demanded. `machine` is a type of machine, "" for any.
    """

    like: WorkerFacts
    minimum: Level
    level: Level | None = None
    machine: str = ""

    def lacks(self, worker: str, facts: WorkerFacts | None) -> Text:
        """Say why a worker may grade nothing; empty if it may."""
        if facts is None:
            return say(
                "{worker} was started without the grader's preload, or with a grader of another"
                " version.",
                worker=worker,
            )
        if differences := _differences(self.like, facts):
            return say("{worker} has {differences}.", worker=worker, differences=differences)
        is_strong = LEVELS.index(facts.level) <= LEVELS.index(self.minimum)
        if not is_strong or self.level not in (None, facts.level):
            return say(
                'The sandbox level "{needed}" is asked for; {worker} has "{level}".',
                needed=self.level or self.minimum,
                worker=worker,
                level=facts.level,
            )
        if self.machine not in ("", facts.machine):
            return say("{worker} is another machine: {kind}.", worker=worker, kind=facts.machine)
        return NOTHING


def _differences(ours: WorkerFacts, theirs: WorkerFacts) -> Text:
    """Return in a row what is installed there, and what is here; empty where nothing differs."""
    found = [*_packages(ours.environment.packages, theirs.environment.packages)]
    python = (ours.environment.python, theirs.environment.python)
    if python[0] != python[1]:
        found.append(_difference("Python", *python))
    if not found and ours.source != theirs.source:
        found.append(say("other files of the grader, of the same version"))
    return in_clauses(found) if found else NOTHING


def _packages(ours: Mapping[str, str], theirs: Mapping[str, str]) -> Iterable[Text]:
    for name in sorted({*ours, *theirs}):
        here, there = ours.get(name, ""), theirs.get(name, "")
        if here != there:
            yield _difference(name, here, there)


def _difference(name: str, ours: str, theirs: str) -> Text:
    if not theirs:
        return say("no {name}, which is here in version {ours}", name=name, ours=ours)
    if not ours:
        return say("{name} {theirs}, which is not here", name=name, theirs=theirs)
    return say("{name} {theirs} where {ours} is here", name=name, theirs=theirs, ours=ours)
