"""Cases are graded ahead of the tests that ask for them."""

from __future__ import annotations

import pytest

from tests.broken.grading import grade_cases
from tests.endtoend.batches import GradedBatch


@pytest.fixture(scope="session")
def graded(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, GradedBatch]:
    """The batch that each of the selected cases was graded in."""
    return grade_cases(_selected(request.session.items), tmp_path_factory.mktemp("broken"))


def _selected(items: list[pytest.Item]) -> list[str]:
    callspecs = [getattr(item, "callspec", None) for item in items]
    return [each.params["case_to_grade"] for each in callspecs if _asks(each)]


def _asks(callspec: object) -> bool:
    return "case_to_grade" in getattr(callspec, "params", {})
