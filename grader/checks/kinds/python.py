"""The check of how a function of NumPy is written, decided from its text alone."""

from __future__ import annotations

from typing import Annotated

import msgspec

from grader.assignment import PositiveInt, Table
from grader.checks.outcome import Outcome, failed, not_graded, partial, passed
from grader.checks.python_text import PythonFacts, read_python
from grader.checks.registry import check
from grader.evidence.case import Case, Problem
from grader.language import say


class LowLevelOptions(Table, frozen=True):
    """`loops` is how deep loops must be nested somewhere; those that go round once do not count.

    `unallocated` is the share of the points that is left where no array is allocated explicitly.
    """

    loops: PositiveInt = 1
    unallocated: Annotated[float, msgspec.Meta(ge=0, le=1)] = 1.0


@check("low_level", options=LowLevelOptions)
def low_level(case: Case, options: LowLevelOptions) -> Outcome:
    """The function computes element by element, in loops.

    Its text decides, with that of the notebook's functions that it calls, as the notebook gave it.
    Operations on whole arrays are only seen where the text leaves no doubt.
    """
    capture = case.candidate.capture
    if not capture.source:
        return not_graded(
            Problem(
                say("The text of `{name}` is not known.", name=capture.name),
                say("Define the function with `def` in a cell of the notebook."),
                code="not_captured",
            )
        )
    facts = read_python(capture.source, capture.name)
    if facts is None:
        return not_graded(
            Problem(
                say("The text of `{name}` cannot be read.", name=capture.name),
                say("Write a plain function of a few dozen lines."),
                code="not_captured",
            )
        )
    return _judge(facts, options)


def _judge(facts: PythonFacts, options: LowLevelOptions) -> Outcome:
    if facts.whole:
        return failed(
            say("`{code}` computes with a whole array.", code=facts.whole[0]),
            say("Write loops over the elements, as in `Y[i, j] = Y[i, j] + X[i, k] * W[j, k]`."),
        )
    if facts.loops < options.loops:
        return failed(
            say(
                "Loops are nested {deep} deep at most, and it takes {loops} to go through all"
                " elements.",
                deep=facts.loops,
                loops=options.loops,
            ),
            say("Write one loop for each axis of the output, and one for the sum."),
        )
    if not facts.allocates and options.unallocated < 1:
        return partial(
            options.unallocated,
            say("No array is allocated explicitly."),
            say("Allocate every result with np.empty(shape, dtype) and fill it in the loops."),
        )
    return passed(
        say(
            "Loops are nested {deep} deep, and no operation on a whole array is seen.",
            deep=facts.loops,
        )
    )
