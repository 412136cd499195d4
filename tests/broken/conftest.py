"""Cases are graded ahead of the tests that ask for them, a few at a time."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from tests.broken.cases import load_case
from tests.broken.grading import Graded, grade_case, make_course

AT_A_TIME = int(os.environ.get("GRADER_TEST_JOBS", max(2, 3 * (os.cpu_count() or 1) // 4)))
"""A grading keeps about one core busy, and waits half of its time."""


@pytest.fixture(scope="session")
def graded(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str], Graded]]:
    """A function that returns what grading the case of that name came to."""
    course = make_course(tmp_path_factory.mktemp("course"))
    folder = tmp_path_factory.mktemp("broken")
    futures: dict[str, Future[Graded]] = {}

    with ThreadPoolExecutor(AT_A_TIME) as pool:

        def start(name: str) -> Future[Graded]:
            if name not in futures:
                futures[name] = pool.submit(grade_case, load_case(name), folder / name, course)
            return futures[name]

        # A worker of pytest-xdist does not know which of the tests are its own.
        if "PYTEST_XDIST_WORKER" not in os.environ:
            for name in _selected(request.session.items):
                start(name)
        yield lambda name: start(name).result()
        pool.shutdown(cancel_futures=True)


def _selected(items: list[pytest.Item]) -> list[str]:
    callspecs = [getattr(item, "callspec", None) for item in items]
    return [each.params["case_to_grade"] for each in callspecs if _asks(each)]


def _asks(callspec: object) -> bool:
    return "case_to_grade" in getattr(callspec, "params", {})
