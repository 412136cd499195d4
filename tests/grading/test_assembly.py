"""What the runners of gradings share: answers, and only where they have the same limits."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.course import load_course
from grader.grading import assembly
from grader.grading.preparation import Preparation, Settings
from tests.evidence.test_runners import RESULT, RUN, Factory

COURSE = load_course(Path(__file__).parents[1] / "courses" / "small")


@pytest.mark.parametrize(
    ("other", "times"),
    [("small", 1), ("tight", 2)],
    ids=["the same assignment", "the same computation in half of the time"],
)
def test_an_answer_is_known_to_those_with_the_same_limits(
    monkeypatch: pytest.MonkeyPatch, other: str, times: int
) -> None:
    factory = Factory(answer=RESULT)
    monkeypatch.setattr(assembly, "runner_starter", lambda *_: factory)
    settings = Settings(sandbox=None, seed=7)  # type: ignore[arg-type]  nothing is started
    for slug in ("small", other):
        with assembly.open_runners(Preparation(COURSE.get(slug), settings)) as pool:
            assert RESULT == pool.request("pure", RUN)
    assert times == len(factory.runners)
