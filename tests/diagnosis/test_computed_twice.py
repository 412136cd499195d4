"""The step that repeats another one is wrong, and not the one that takes it."""

from __future__ import annotations

import numpy as np
import torch
from torch.nn import functional

from grader.diagnosis.align import Alignment, Observed, align
from grader.diagnosis.words import tell_change
from grader.evidence.recorder import record
from tests.diagnosis.network import Values, double
from tests.seeded import seeded

GENERATOR = seeded(11)
X, GATE, UP = (GENERATOR.standard_normal(s).astype(np.float32) for s in ((3, 8), (8, 5), (8, 5)))


def gated(x: Values, gate: Values, up: Values) -> Values:
    """Return a gated layer, in PyTorch."""
    x, gate, up = double(x), double(gate), double(up)
    result: Values = (functional.silu(x @ gate) * (x @ up)).numpy()
    return result


def alignment(second: Values) -> Alignment:
    """Return the steps of a gated layer, of whose products the second is of `second`."""
    silu = functional.silu(torch.tensor(X @ GATE)).numpy()
    steps = [
        Observed("g", "matmul", X @ GATE, (), takes_input=True),
        Observed("s", "silu", silu, (0,)),
        Observed("u", "matmul", X @ second, (), takes_input=True),
        Observed("y", "multiply", silu * (X @ second), (1, 2)),
    ]
    return align(steps, record(lambda: gated(X, GATE, UP), [X, GATE, UP]))


def test_the_step_that_repeats_another_one_is_named_with_it() -> None:
    found = alignment(GATE)
    assert found.mistake is not None
    assert (2, "other_operand", "matmul") == (found.wrong, *found.mistake[:2])
    assert {"repeats": "g"} == found.mistake.facts
    assert ("right", "right", "wrong", "follows") == found.statuses
    what, advice = tell_change(
        found.mistake.kind, {**found.mistake.facts, "layer": found.mistake.layer}
    )
    assert "it gives the same numbers as `g`" == what.english
    assert advice.english.startswith("Compute the other matmul of PyTorch here")


def test_without_a_repetition_nothing_departs() -> None:
    assert alignment(UP).wrong is None


def test_it_is_named_also_where_one_step_does_all_that_follows() -> None:
    """Silu is no step of its own here, and the product seemed to take another argument."""
    silu = functional.silu(torch.tensor(X @ GATE)).numpy()
    steps = [
        Observed("g", "swiglu", X @ GATE, (), takes_input=True),
        Observed("u", "swiglu", X @ GATE, (), takes_input=True),
        Observed("y", "swiglu", silu * (X @ GATE), (0, 1)),
    ]
    found = align(steps, record(lambda: gated(X, GATE, UP), [X, GATE, UP]))
    assert found.mistake is not None
    assert (1, {"repeats": "g"}) == (found.wrong, found.mistake.facts)
