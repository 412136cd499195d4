"""Examples are graded ahead of the tests that ask for them."""

from __future__ import annotations

import pytest

from tests.browser import browser, chromium
from tests.endtoend.batches import GradedBatch, grade_timed
from tests.endtoend.examples import brisk_course, chosen, example_notebooks, is_timed

__all__ = ["browser", "chromium", "graded_timed"]

TIMED_SECONDS = 3
"""How long a schedule is timed: enough for a verdict that leaves some room."""


@pytest.fixture(scope="session")
def graded_timed(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> GradedBatch:
    """The selected examples whose verdict depends on the clock; timing has the machine alone."""
    names = [name for name in chosen(request.session.items) if is_timed(name)]
    course = brisk_course(tmp_path_factory.mktemp("course"), TIMED_SECONDS)
    folder = tmp_path_factory.mktemp("examples")
    return grade_timed(folder, example_notebooks(names), course)
