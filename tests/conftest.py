"""The sandbox that tests run things in: a real one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import cast

import pytest

from grader.sandbox.choose import choose_sandbox
from grader.sandbox.interface import Level
from grader.sandbox.start import SteppingSandbox


@pytest.fixture(scope="session")
def sandbox() -> Iterator[SteppingSandbox]:
    """A sandbox of the level in GRADER_TEST_LEVEL, without it the strongest of this machine."""
    level = cast("Level | None", os.environ.get("GRADER_TEST_LEVEL"))
    with choose_sandbox(level, minimum="none") as chosen:
        yield chosen
