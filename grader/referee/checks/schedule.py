"""The check of a schedule's steps: which of them were done."""

from __future__ import annotations

from functools import reduce
from operator import and_

from grader.assignment import Points, Table
from grader.ir.facts import FunctionFacts
from grader.referee.convolution import NO_CONVOLUTION, find_convolution, find_convolutions
from grader.referee.evidence import Case
from grader.referee.outcome import Outcome, not_graded, partial
from grader.referee.registry import check
from grader.referee.steps import Steps, find_steps


class StepOptions(Table, frozen=True):
    """`weight` is the convolution's shape; the others are each step's points."""

    weight: tuple[int, ...]
    inline: Points
    reorganize: Points
    decompose: Points
    annotate: Points


_NAMES = {
    "inline": ("the padding is inlined", "compute_inline the block that only copies the input"),
    "reorganize": ("the loops are reorganised", "split, reorder or fuse the loops"),
    "decompose": ("the reduction is decomposed", "call decompose_reduction"),
    "annotate": (
        "a loop is vectorized, parallel or unrolled",
        "vectorize an inner loop and run an outer one in parallel",
    ),
}


@check("schedule_steps", options=StepOptions)
def schedule_steps(case: Case, options: StepOptions) -> Outcome:
    """The steps of the schedule are done on the convolution."""
    functions = find_convolutions(case.candidate.facts, options.weight)
    if not functions:
        return not_graded(NO_CONVOLUTION)
    base = _base(case, options)
    found = (find_steps(function, base, options.weight) for function in functions)
    steps = reduce(and_, found)
    points = {name: getattr(options, name) for name in _NAMES}
    earned = sum(value for name, value in points.items() if getattr(steps, name))
    return partial(earned / sum(points.values()), _spell(steps), _next_step(steps))


def _base(case: Case, options: StepOptions) -> FunctionFacts | None:
    base = case.candidate.base
    return find_convolution(base, options.weight) if base is not None else None


def _spell(steps: Steps) -> str:
    done = [text for name, (text, _) in _NAMES.items() if getattr(steps, name)]
    missing = [text for name, (text, _) in _NAMES.items() if not getattr(steps, name)]
    sentences = []
    if done:
        sentences.append(f"Done: {', '.join(done)}.")
    if missing:
        sentences.append(f"Not seen: {', '.join(missing)}.")
    return " ".join(sentences)


def _next_step(steps: Steps) -> str:
    hints = [hint for name, (_, hint) in _NAMES.items() if not getattr(steps, name)]
    return f"{hints[0][0].upper()}{hints[0][1:]}." if hints else ""
