"""The sandbox that tests run things in: a real one."""

from __future__ import annotations

import faulthandler
import gc
import inspect
import os
import re
import sys
from collections.abc import Callable, Generator, Iterable, Iterator
from pathlib import Path
from typing import Protocol, cast

import hypothesis
import pytest

from grader.sandbox.choose import choose_sandbox
from grader.sandbox.interface import LEVELS, Level
from grader.sandbox.start import SteppingSandbox
from tests.endtoend.together import in_turn, together
from tests.rings import ALONE, LIST, Part, key_of, mark, read_part, read_second_ring
from tests.seeded import begin_again

__all__ = ["sandbox", "together"]

ROOT = Path(__file__).parents[1]

# A run of the tests depends neither on the runs before it nor on chance; benchmarks/decoders.py
# looks for counterexamples where nobody has looked yet. A deadline would measure the machine.
hypothesis.settings.register_profile("grader", database=None, derandomize=True, deadline=None)
hypothesis.settings.load_profile("grader")

# `inspect` looks through all modules for each frame whose file belongs to none. PyTorch asks it for
# the module of hundreds of functions.
inspect.modulesbyfile.update(
    {
        "<frozen importlib._bootstrap>": "importlib._bootstrap",
        "<frozen importlib._bootstrap_external>": "importlib._bootstrap_external",
        "<frozen runpy>": "runpy",
        "<string>": "__main__",
        "<ast>": "ast",
    }
)


def _stack_of_module(context: int = 1) -> list[inspect.FrameInfo]:
    """Return the callers up to their module, which encloses all scopes of a function there.

    TVM calls `inspect.stack` for each function that it parses. Dozens of frames of pytest lie
    behind the module, and each is looked up with its line of source.
    """
    found: list[inspect.FrameInfo] = []
    frame = sys._getframe(1)
    while frame is not None:
        found.append(inspect.FrameInfo(frame, *inspect.getframeinfo(frame, context)))
        frame = None if frame.f_code.co_name == "<module>" else frame.f_back
    return found


inspect.stack = _stack_of_module


_SECOND_RING = read_second_ring(LIST.read_text(encoding="utf-8"))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that selects a part of the second ring."""
    parser.addoption("--part", metavar="K/N", help="of the second ring, the K-th of N parts")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Import no file of the second ring alone, where the first is run: that takes seconds."""
    if "not slow" not in config.option.markexpr or not collection_path.is_relative_to(ROOT):
        return None
    return _SECOND_RING.has_whole(str(collection_path.relative_to(ROOT))) or None


@pytest.hookimpl(tryfirst=True, wrapper=True)  # before `-m` is looked at, and behind it
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> Generator[None, None, None]:
    """Begin with what lasts longest, so that no process is left with it when others have ended."""
    mark(items, _SECOND_RING)
    if _is_everything(config):
        passed_by = tuple(config.option.ignore or ())
        lines = _SECOND_RING.unused(item.nodeid for item in items)
        lines = [line for line in lines if not line.startswith(passed_by)]
        if lines:
            raise pytest.UsageError(f"{LIST.name} names tests that do not exist: {lines}")
    lost = left_out_by_make(items)
    if lost:
        raise pytest.UsageError(f"`make test-all` would not run {lost}: name it in ALONE there")
    if part := config.getoption("--part"):
        _keep(_part_named(part), config, items)
    yield
    items[:] = in_turn(items)


def _part_named(text: str) -> Part:
    try:
        return read_part(text)
    except ValueError as error:
        raise pytest.UsageError(str(error)) from None


def _keep(part: Part, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the tests of the second ring that other parts have."""
    others = [item for item in items if "slow" in item.keywords and not part.has(key_of(item))]
    config.hook.pytest_deselected(items=others)
    left_out = set(others)
    items[:] = [item for item in items if item not in left_out]


def _is_everything(config: pytest.Config) -> bool:
    """Say whether all tests were collected, whichever of them will run."""
    collected = {(ROOT / each).resolve() for each in config.args}
    return "not slow" not in config.option.markexpr and collected == {ROOT / "tests"}


# Nearly all that collection makes is kept: to look through it for garbage took 2 s of 25.
gc.disable()


def pytest_collection_finish() -> None:
    """Look for garbage again, and among what tests make alone."""
    gc.freeze()
    gc.enable()


def left_out_by_make(items: Iterable[pytest.Item]) -> list[str]:
    """Return the tests that want the machine to themselves in files that `make test` passes by."""
    (line,) = re.findall(r"^ALONE := (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    places = {ROOT / each for each in line.split()}
    alone = [each for each in items if not ALONE.isdisjoint(each.keywords)]
    return sorted(
        each.nodeid for each in alone if places.isdisjoint({each.path, *each.path.parents})
    )


class Looks(Protocol):
    """A browser: tests/browser.py is imported where there is one alone."""

    def look(self, test: Callable[[], object]) -> None:
        """Run a test that opens pages."""
        ...


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """Give a test that opens pages to its browser, which knows what to do where it is stuck."""
    if browser := cast("Looks | None", pyfuncitem.funcargs.get("browser")):
        test = pyfuncitem.obj
        pyfuncitem.obj = lambda **values: browser.look(lambda: test(**values))
    return (yield)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Let what a test draws, or a fixture of its module, not hang on which ran before it."""
    begin_again()


def pytest_collectstart(collector: pytest.Collector) -> None:
    """Let what a module draws while it is imported not hang on which were imported before it."""
    if isinstance(collector, pytest.Module):
        begin_again()


@pytest.fixture(scope="session")
def sandbox() -> Iterator[SteppingSandbox]:
    """A sandbox of the level in GRADER_TEST_LEVEL, without it the strongest of this machine."""
    level = cast("Level | None", os.environ.get("GRADER_TEST_LEVEL"))
    with choose_sandbox(level, minimum="none") as chosen:
        yield chosen


@pytest.fixture
def silent_crashes() -> Iterator[None]:
    """Let a child crash without the stack that pytest's handler of faults would print: 60 lines."""
    faulthandler.disable()
    yield
    faulthandler.enable(sys.__stderr__)


class HasLevel(Protocol):
    """A sandbox, or what a report says of the one that it was made in."""

    @property
    def level(self) -> Level:
        """How strong it is."""
        ...


def require(sandbox: HasLevel, weakest: Level) -> None:
    """Skip a test whose property weaker levels do not have (docs/security.md)."""
    if LEVELS.index(sandbox.level) > LEVELS.index(weakest):
        pytest.skip(f"the level {sandbox.level} does not promise it")
