"""Suites whose verdicts have nothing to do with the clock, graded in one batch.

Each of their modules has a function `untimed_submissions` (`Suite`). Whichever module of a run
comes first grades the submissions of all: one start of the grader, one set of the oracles' answers,
and a module that several submissions hold is run once. The run's other processes wait for it.
"""

from __future__ import annotations

import fcntl
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Protocol, cast

import msgspec
import pytest

from grader.language import ENGLISH
from grader.report import texts
from tests.dialects.untimed import untimed_course
from tests.endtoend.batches import GradedBatch, grade_batch


class Suite(Protocol):
    """A module of tests that has submissions, by "group/name"."""

    def untimed_submissions(self, selected: Sequence[pytest.Function]) -> Mapping[str, bytes]:
        """Return the content of each submission that the selected tests of the module need."""


@pytest.fixture(scope="module")
def together(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> GradedBatch:
    """What became of the module's submissions; exit code and output are those of all suites."""
    folder = run_folder(request.config, tmp_path_factory) / "together"
    folder.mkdir(exist_ok=True)
    with _locked(folder / "lock"):
        written = folder / "batch.msgpack"
        if not written.exists():
            batch = grade_suites(suites_of(request.session.items), folder)
            written.write_bytes(msgspec.msgpack.encode(batch, enc_hook=texts.encoder(ENGLISH)))
    batch = msgspec.msgpack.decode(written.read_bytes(), type=GradedBatch, dec_hook=texts.decode)
    return of_suite(batch, suite_name(request.module))


def run_folder(config: pytest.Config, factory: pytest.TempPathFactory) -> Path:
    """Return the folder for temporary files that all processes of this run share."""
    is_one_of_several = hasattr(config, "workerinput")
    own = factory.getbasetemp()
    return own.parent if is_one_of_several else own


def suites_of(items: Iterable[pytest.Item]) -> dict[ModuleType, list[pytest.Function]]:
    """Return the modules that have submissions, each with its tests that were selected for them."""
    found: dict[ModuleType, list[pytest.Function]] = {}
    for item in items:
        is_graded = isinstance(item, pytest.Function) and "graded" in item.keywords
        if is_graded and hasattr(item.module, Suite.untimed_submissions.__name__):
            found.setdefault(item.module, []).append(item)
    return found


def in_turn(items: Iterable[pytest.Item]) -> list[pytest.Item]:
    """Return the selected tests in the order in which they begin, those that last longest first.

    The first suite grades the submissions of all. The others come last: each would keep a process
    waiting until that is done.
    """
    items = list(items)
    suites = list(suites_of(items))

    def turn(item: pytest.Item) -> int:
        module = getattr(item, "module", None)
        if module in suites:
            return 0 if module is suites[0] else 3
        return 1 if "graded" in item.keywords else 2

    return sorted(items, key=turn)


def suite_name(module: ModuleType) -> str:
    """Return the folder of a suite's submissions."""
    return module.__name__.rpartition(".")[2]


def grade_suites(
    suites: Mapping[ModuleType, Sequence[pytest.Function]], folder: Path
) -> GradedBatch:
    """Grade the submissions of all suites in a folder each, in the untimed course."""
    contents = {
        f"{suite_name(suite)}/{name}": content
        for suite, selected in suites.items()
        for name, content in cast(Suite, suite).untimed_submissions(selected).items()
    }
    course = folder / "course"
    course.mkdir()
    return grade_batch(folder / "batch", contents, "--course", untimed_course(course))


def of_suite(batch: GradedBatch, suite: str) -> GradedBatch:
    """Return a batch with one suite's reports alone, by the names that the suite gave them."""
    start = f"{suite}/"
    own = {name: report for name, report in batch.reports.items() if name.startswith(start)}
    return replace(batch, reports={name.removeprefix(start): own[name] for name in own})


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
