"""What workers offer and jobs demand: Dask's resources, by names that say what has to be the same.

Who grades with other versions, or below the level that an assignment asks for, offers too little
and is given nothing, whenever it joins. Quantities mean nothing: there is always enough.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from grader.cluster.messages import WorkerFacts
from grader.language import NOTHING, Text, in_clauses, say
from grader.sandbox.interface import LEVELS, Level

ENOUGH = 1e6

Resources = Mapping[str, float]


class Wanted(NamedTuple):
    """What a worker must have: the versions of `like`, and an isolation that is as strong as
    `minimum`, or just `level` where one was demanded. `machine` is a type of machine, "" for any.
    """

    like: WorkerFacts
    minimum: Level
    level: Level | None = None
    machine: str = ""

    def resources(self) -> dict[str, float]:
        """Return what a job demands of the worker that it is given to."""
        names = [_versions(self.like), _at_least(self.minimum)]
        names += [_just(self.level)] if self.level else []
        names += [_machine(self.machine)] if self.machine else []
        return dict.fromkeys(names, 1.0)

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
        if not set(self.resources()) <= set(offered(facts)):
            if self.machine and facts.machine != self.machine:
                return say(
                    "{worker} is another machine: {type}.", worker=worker, type=facts.machine
                )
            return say(
                'The assignment asks for the sandbox level "{needed}"; {worker} has "{level}".',
                needed=self.level or self.minimum,
                worker=worker,
                level=facts.level,
            )
        return NOTHING


def offered(facts: WorkerFacts) -> dict[str, float]:
    """Return what a worker of these facts offers."""
    weaker = LEVELS[LEVELS.index(facts.level) :]
    names = [_versions(facts), _just(facts.level), _machine(facts.machine)]
    return dict.fromkeys([*names, *map(_at_least, weaker)], ENOUGH)


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


def _versions(facts: WorkerFacts) -> str:
    return f"grader-{facts.fingerprint}"


def _at_least(level: Level) -> str:
    return f"grader-level-{level}"


def _just(level: Level) -> str:
    return f"grader-just-{level}"


def _machine(name: str) -> str:
    return f"grader-machine-{hashlib.sha256(name.encode()).hexdigest()[:16]}"
