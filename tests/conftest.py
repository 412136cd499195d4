"""The sandbox that tests run things in: a real one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import cast

import hypothesis
import pytest

from grader.sandbox.choose import choose_sandbox
from grader.sandbox.interface import LEVELS, Level, Sandbox
from grader.sandbox.start import SteppingSandbox

# A run of the tests depends neither on the runs before it nor on chance; benchmarks/decoders.py
# looks for counterexamples where nobody has looked yet.
hypothesis.settings.register_profile("grader", database=None, derandomize=True)
hypothesis.settings.load_profile("grader")


@pytest.fixture(scope="session")
def sandbox() -> Iterator[SteppingSandbox]:
    """A sandbox of the level in GRADER_TEST_LEVEL, without it the strongest of this machine."""
    level = cast("Level | None", os.environ.get("GRADER_TEST_LEVEL"))
    with choose_sandbox(level, minimum="none") as chosen:
        yield chosen


def require(sandbox: Sandbox, weakest: Level) -> None:
    """Skip a test whose property weaker levels do not have (docs/security.md)."""
    if LEVELS.index(sandbox.level) > LEVELS.index(weakest):
        pytest.skip(f"the level {sandbox.level} does not promise it")
