"""How often a warden looks at its sandbox."""

from __future__ import annotations

import pytest

from grader.inside.launcher.warden import usual_pause


@pytest.mark.parametrize(
    ("cost", "pause"),
    [(0.001, 0.1), (0.03, 0.3), (0.2, 0.5), (2, 2)],
    ids=["cheap", "a tenth of a processor", "never blind for long", "half a processor at most"],
)
def test_looks_that_cost_much_are_fewer_but_not_few(cost: float, pause: float) -> None:
    assert usual_pause(0.1, cost) == pytest.approx(pause)
