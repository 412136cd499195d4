"""Examples are graded ahead of the tests that ask for them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.browser import browser, chromium
from tests.dialects.untimed import untimed_course
from tests.endtoend.batches import GradedBatch
from tests.endtoend.examples import brisk_course, grade_examples, is_timed

__all__ = ["browser", "chromium", "graded_examples"]

TIMED_SECONDS = 3
"""How long a schedule is timed: enough for a verdict that leaves some room."""


@pytest.fixture(scope="session")
def graded_examples(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], GradedBatch]:
    """Return, for an example's name, the batch that it was graded in with those like it."""
    batches: dict[bool, GradedBatch] = {}
    selected = _selected(request.session.items)

    def graded(name: str) -> GradedBatch:
        timed = is_timed(name)
        if timed not in batches:
            alike = [each for each in selected if is_timed(each) is timed]
            course = tmp_path_factory.mktemp("course")
            course = brisk_course(course, TIMED_SECONDS) if timed else untimed_course(course)
            batches[timed] = grade_examples(alike, tmp_path_factory.mktemp("examples"), course)
        return batches[timed]

    return graded


def _selected(items: list[pytest.Item]) -> list[str]:
    found = [getattr(item, "callspec", None) for item in items]
    return [each.params["example"] for each in found if "example" in getattr(each, "params", {})]
