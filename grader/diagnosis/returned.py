"""A `main` that computes all and returns what it was given: read in the module itself.

`return b1` in place of `return out`: every step is right, and a parameter is the value of none.
"""

from __future__ import annotations

from collections.abc import Sequence

from grader.diagnosis.align import Alignment
from grader.diagnosis.layers import Program
from grader.diagnosis.matching import Observed
from grader.diagnosis.mistakes import LikelyMistake, last_output
from grader.evidence.operations import Layer
from grader.ir.facts import ModuleFacts


def with_returned_argument(
    alignment: Alignment, facts: ModuleFacts, steps: Sequence[Observed], layers: Sequence[Layer]
) -> Alignment:
    """Return an alignment that says so where all steps are right, and one of them the output."""
    if alignment.wrong is not None or not facts.has_main:
        return alignment
    result, last = facts.result, last_output(Program(layers))
    if result is None or result.kind != "input" or last is None or last not in alignment.matched:
        return alignment
    step = alignment.matched.index(last)
    told = {"returned": result.name, "wanted": steps[step].variable}
    mistake = LikelyMistake("other_step_returned", layers[last].name, told, last)
    return alignment._replace(wrong=step, expected=last, mistake=mistake)
