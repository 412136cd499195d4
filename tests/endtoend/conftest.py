"""Examples are graded ahead of the tests that ask for them."""

from __future__ import annotations

import pytest

from tests.browser import browser, chromium
from tests.endtoend.batches import GradedBatch, grade_timed
from tests.endtoend.examples import chosen, example_notebooks, is_timed

__all__ = ["browser", "chromium", "graded_timed"]


@pytest.fixture(scope="session")
def graded_timed(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> GradedBatch:
    """The selected examples whose verdict depends on the clock; timing has the machine alone."""
    names = [name for name in chosen(request.session.items) if is_timed(name)]
    return grade_timed(tmp_path_factory.mktemp("examples"), example_notebooks(names))
