"""A layer that is computed twice, and another one of its kind not at all.

`u = x @ gate` beside `g = x @ gate` is a right value, of the wrong layer. What takes it would be
told to take "the result of matmul" in place of "the result of matmul".
"""

from __future__ import annotations

from collections.abc import Iterator

import torch

from grader.diagnosis.layers import Change, known
from grader.diagnosis.matching import Matching
from grader.diagnosis.mistakes import LikelyMistake, whole_of


def computed_twice(matching: Matching, wrong: int) -> tuple[int, LikelyMistake] | None:
    """Return the step that should have another layer's value, where the wrong step takes it.

    With the repeated value in that layer's place, PyTorch has the wrong step's numbers.
    """
    value, program = matching.steps[wrong].value, matching.program
    if value is None or known(value).is_trivial:
        return None
    for step in sorted(matching.steps[wrong].takes):
        first = _first_with(matching, step)
        if first is None or not matching.steps[first].variable:
            continue
        for wanted, one in _repeated(matching, step):
            if next(matching.open_layers_of(one, value), None) is not None:
                name = program.layers[whole_of(wanted, program)].name
                told = {"repeats": matching.steps[first].variable}
                return step, LikelyMistake("other_operand", name, told, wanted)
    return None


def _repeated(matching: Matching, step: int) -> Iterator[tuple[int, Change]]:
    """Yield the layers that no step does, each with a change that gives it a step's value."""
    place, program = matching.matched[step], matching.program
    if place is None:
        return
    repeated = torch.from_numpy(program.layers[place].value)
    for wanted, each in enumerate(matching.known):
        if wanted not in matching.matched and each.shape == matching.known[place].shape:
            yield wanted, Change("other_operand", wanted, {wanted: lambda *_: repeated}, {})


def _first_with(matching: Matching, step: int) -> int | None:
    """Return an earlier step with the value of a step that does not copy it, None without any."""
    return next(
        (
            each
            for each in range(step)
            if matching.matched[each] == matching.matched[step]
            and each not in matching.ancestors[step]
        ),
        None,
    )
