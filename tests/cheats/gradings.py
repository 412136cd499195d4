"""Grading cheats by the real command line, ahead of the tests that ask for them."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import nbformat

from tests.cheats.fixtures import Cheat
from tests.cheats.host import Host, demanded_level
from tests.endtoend.command import Result, run_grader


@dataclass(frozen=True)
class Graded:
    """What a grading gave, and what it left behind: processes, files, damage to secrets."""

    result: Result
    survivors: list[str]
    litter: list[str]
    intact: bool


def grade(cheat: Cheat, host: Host) -> Graded:
    """Grade one cheat. The one place where it is said how."""
    folder = host.folder / "runs" / f"{cheat.group}-{cheat.name}"
    temporary = folder / "t"
    temporary.mkdir(parents=True)
    notebook = folder / "submission.ipynb"
    linger = f"{host.marker}-{cheat.group}-{cheat.name}"
    nbformat.write(cheat.notebook({**host.values, "linger": linger}), notebook)
    level = demanded_level()
    course = cheat.course if cheat.is_timed else Path(host.values["course"])
    result = run_grader(
        folder,
        notebook,
        *("--course", course),
        *("--seed", str(host.seed)),
        *(("--sandbox", level) if level else ()),
        environment={**host.environment, "TMPDIR": str(temporary)},
    )
    return Graded(
        result,
        survivors=host.survivors(linger),
        litter=[path.name for path in temporary.iterdir()],
        intact=host.intact(),
    )


class Gradings:
    """All gradings of a session: each cheat is graded once.

    `ahead` are graded in threads, in this order, before anybody asks. Timed ones are not: they are
    graded when asked for, which is after all others.
    """

    def __init__(self, host: Host, cheats: Iterable[Cheat], ahead: Iterable[Cheat]) -> None:
        self._host = host
        self._by_name = {(cheat.group, cheat.name): cheat for cheat in cheats}
        self._futures: dict[tuple[str, str], Future[Graded]] = {}
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(max(1, (os.cpu_count() or 1) // 2))
        for cheat in ahead:
            if not cheat.is_timed:
                self._begin(cheat)

    def result(self, cheat: Cheat) -> Graded:
        """Return a cheat's grading, waiting for it if need be."""
        return self._begin(cheat).result()

    def close(self) -> None:
        """Begin nothing more, and wait for what has begun."""
        self._pool.shutdown(cancel_futures=True)

    def _begin(self, cheat: Cheat) -> Future[Graded]:
        """Start a grading unless it was started before; first the one that must precede it."""
        earlier = None
        if cheat.description.after is not None:
            earlier = self._begin(self._by_name[cheat.group, cheat.description.after])
        key = (cheat.group, cheat.name)
        with self._lock:
            if key not in self._futures:
                self._futures[key] = self._pool.submit(self._grade, cheat, earlier)
            return self._futures[key]

    def _grade(self, cheat: Cheat, earlier: Future[Graded] | None) -> Graded:
        if earlier is not None:  # it was begun before this one, so this thread's wait ends
            earlier.result()
        return grade(cheat, self._host)
