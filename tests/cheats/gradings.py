"""Grading cheats by the real command line: all in one batch, and timed ones in another."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import nbformat

from grader.report import Report
from tests.cheats.fixtures import Cheat
from tests.cheats.host import Host
from tests.endtoend.batches import GradedBatch, grade_batch, grade_timed
from tests.endtoend.examples import quick_course


@dataclass(frozen=True)
class Graded:
    """What a grading gave, and what it left behind: processes, files, damage to secrets.

    `messages` are what the batch said of this one.
    """

    messages: str
    report: Report | None
    survivors: list[str]
    leftovers: tuple[str, ...]
    intact: bool


class Gradings:
    """All gradings of a session: each cheat is graded once.

    `together` are graded in one batch when the first of them is asked for, those that come after
    another cheat in a second one. So are those of our course, and of them those that are timed:
    each of these has the machine alone while it is.
    """

    def __init__(self, host: Host, cheats: Iterable[Cheat], together: Iterable[Cheat]) -> None:
        self._host = host
        self._by_name = {(cheat.group, cheat.name): cheat for cheat in cheats}
        self._together = {_key(cheat): cheat for cheat in together}
        self._graded: dict[str, Graded] = {}
        self.ends: list[tuple[int, str]] = []
        """The exit code of each batch, and the last of what it said."""

    def untimed(self) -> list[Cheat]:
        """Return the selected cheats whose verdict has nothing to do with the clock."""
        return [cheat for cheat in self._together.values() if not cheat.is_timed]

    def result(self, cheat: Cheat) -> Graded:
        """Return a cheat's grading, waiting for it if need be."""
        if _key(cheat) not in self._graded:
            kind = _kind(cheat)
            alike = {key: each for key, each in self._together.items() if _kind(each) == kind}
            self._grade({_key(cheat): cheat, **alike})
        return self._graded[_key(cheat)]

    def _grade(self, wanted: dict[str, Cheat]) -> None:
        for cheat in list(wanted.values()):
            if cheat.description.after is not None:
                earlier = self._by_name[cheat.group, cheat.description.after]
                wanted[_key(earlier)] = earlier
        for later in (False, True):
            chosen = [c for c in wanted.values() if (c.description.after is not None) is later]
            if chosen:
                self._grade_together(chosen)

    def _grade_together(self, cheats: list[Cheat]) -> None:
        host, first = self._host, cheats[0]
        folder = host.folder / "runs" / f"{len(self._graded)}"
        folder.mkdir(parents=True)
        submissions = {_key(cheat): self._submission(cheat) for cheat in cheats}
        seed = ("--seed", str(host.seed))
        if first.is_timed:
            batch = grade_timed(folder, submissions, *seed, environment=host.environment)
        else:
            own = _at_any_level(folder) if first.is_of_the_course else host.values["course"]
            course = ("--course", own)
            batch = grade_batch(folder, submissions, *course, *seed, environment=host.environment)
        self.ends.append((batch.code, "\n".join(batch.messages.splitlines()[-20:])))
        for cheat in cheats:
            self._graded[_key(cheat)] = self._outcome(cheat, batch)

    def _submission(self, cheat: Cheat) -> bytes:
        notebook = cheat.notebook({**self._host.values, "linger": self._linger(cheat)})
        return nbformat.writes(notebook).encode()

    def _outcome(self, cheat: Cheat, batch: GradedBatch) -> Graded:
        survivors = [line for line in batch.survivors.splitlines() if self._linger(cheat) in line]
        return Graded(
            "\n".join(line for line in batch.messages.splitlines() if _key(cheat) in line),
            batch.reports.get(_key(cheat)),
            survivors,
            batch.leftovers,
            self._host.intact(),
        )

    def _linger(self, cheat: Cheat) -> str:
        return f"{self._host.marker}-{cheat.group}-{cheat.name}"


def _at_any_level(folder: Path) -> Path:
    """Make a quick copy of our course that accepts the levels which its assignments refuse."""
    course = quick_course(folder)
    for table in course.glob("assignments/*/assignment.toml"):
        text = table.read_text(encoding="utf-8")
        table.write_text(f'{text}\n[sandbox]\nminimum = "none"\n', encoding="utf-8")
    return course


def _kind(cheat: Cheat) -> tuple[bool, bool]:
    """Return what those have in common that one batch can grade."""
    return cheat.is_timed, cheat.is_of_the_course


def _key(cheat: Cheat) -> str:
    return f"{cheat.group}/{cheat.name}"
