"""Checks of a schedule: which steps were done."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import and_
from typing import Literal, cast, get_args

from grader.assignment import Points, Table
from grader.evidence.case import Case, TimedSchedule
from grader.evidence.registry import Outcome, check, not_graded, partial
from grader.evidence.stages import Stage, find_stages
from grader.evidence.steps import Step, blocks_without, find_steps
from grader.evidence.subject import Subject, find_convolutions
from grader.ir.facts import FunctionFacts
from grader.ir.vocabulary import is_name, shown
from grader.language import NOTHING, Text, in_a_row, join, say
from grader.measurement.steps.advice import is_costly
from grader.report import StepSpeeds

Paid = Literal[
    "inline",
    "reorganize",
    "split",
    "reorder",
    "decompose",
    "annotate",
    "vectorize",
    "vectorize_epilogue",
    "unroll",
    "parallel",
    "rfactor",
    "cache_read",
    "cache_write",
    "compute_at",
    "tensorize",
    "pipeline",
]
"""What an assignment may give points for."""


class StepTable(Table, frozen=True):
    """A step that is asked for, and its points.

    `reorganize` is done where a loop is split, fused or reordered, `annotate` where one is
    vectorized, unrolled or parallel; `vectorize` only where the stores are contiguous.
    """

    kind: str
    points: Points

    def __post_init__(self) -> None:
        """Refuse a step that there is not."""
        if self.kind not in get_args(Paid):
            known = ", ".join(get_args(Paid))
            raise ValueError(f"there is no step `{self.kind}`, but {known}")


class StepOptions(Table, frozen=True):
    """`steps` are those to do, in the order in which they are reported; `weight` is a shape.

    Without the weight of a convolution the steps are looked for on the function of the part's
    computation.
    """

    steps: tuple[StepTable, ...]
    weight: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        """Refuse a list in which no step is worth anything, or one is there twice."""
        kinds = [each.kind for each in self.steps]
        if not any(each.points for each in self.steps):
            raise ValueError("no step has points")
        if twice := [kind for place, kind in enumerate(kinds) if kind in kinds[:place]]:
            raise ValueError(f"the step `{twice[0]}` is there twice")
        if "inline" in kinds and not self.weight:
            raise ValueError("`inline` is for a convolution, which has a `weight`")

    def points(self) -> dict[Paid, float]:
        """Return what each step is worth."""
        return {cast("Paid", each.kind): float(each.points) for each in self.steps}


Done = frozenset[Step | Stage]
"""The steps that were done."""

_WORDING: dict[Paid, tuple[Text, Text]] = {
    "inline": (
        say("padding-inlined"),
        say("compute-inline-block-that-only-copies-input"),
    ),
    "reorganize": (say("loops-reorganised"), say("split-reorder-or-fuse-loops")),
    "split": (
        say("loop-split"),
        say("split-loops-over-output-so-that-small"),
    ),
    "reorder": (
        say("loops-reordered"),
        say("reorder-loops-those-tile-inside-those-over"),
    ),
    "decompose": (
        say("reduction-decomposed"),
        say("call-decompose-reduction-as-last-step"),
    ),
    "annotate": (
        say("loop-vectorized-parallel-or-unrolled"),
        say("vectorize-inner-loop-and-run-outer-one"),
    ),
    "vectorize": (
        say("loop-vectorized-along-outputs-last-axis"),
        say("vectorize-inner-loop-over-last-axis-output"),
    ),
    "unroll": (say("loop-unrolled"), say("unroll-short-loops-inside-tile")),
    "parallel": (say("loop-parallel"), say("run-outermost-loop-in-parallel")),
    "rfactor": (
        say("sum-computed-in-parts-which-summed-up"),
        say("split-loop-sum-and-call-rfactor"),
    ),
    "cache_read": (
        say("what-sum-loads-read-through-cache"),
        say("call-cache-read-for-input-sum"),
    ),
    "cache_write": (
        say("sum-written-through-cache"),
        say("call-cache-write-for-sum-and-move"),
    ),
    "compute_at": (
        say("another-block-stands-in-loop-sum"),
        say("move-block-with-compute-at-or-reverse"),
    ),
    "vectorize_epilogue": (
        say("what-follows-sum-vectorized"),
        say("vectorize-innermost-loop-each-block-that-works"),
    ),
    "tensorize": (
        say("sum-done-by-intrinsic-tensorize"),
        say("tensorize-inner-loops-sum-with-intrinsic"),
    ),
    "pipeline": (
        say("loop-sum-software-pipeline"),
        say("move-copy-that-sum-reads-into-loop"),
    ),
}
"""What a step is called when it was done, and what to do where it was not."""

_WORTH: tuple[Paid, ...] = (
    "vectorize",
    "annotate",
    "parallel",
    "reorganize",
    "split",
    "reorder",
    "decompose",
    "unroll",
    "vectorize_epilogue",
    "compute_at",
    "cache_write",
    "cache_read",
    "rfactor",
    "tensorize",
    "pipeline",
    "inline",
)
"""Among steps of the same points, the hint names the one that helps most."""

_PRIMITIVES: dict[Paid, tuple[str, ...]] = {
    "inline": ("compute_inline", "reverse_compute_inline"),
    "reorganize": ("split", "fuse", "reorder"),
    "decompose": ("decompose_reduction",),
    "annotate": ("vectorize", "parallel", "unroll"),
    "compute_at": ("compute_at", "reverse_compute_at"),
}
"""What a step is called in a notebook, where it has another name."""

_SCATTERED = say("vectorized-but-stores-scattered-loop-not-last")
_PARTS: dict[Paid, dict[Step, Text]] = {
    "reorganize": {"split": say("split"), "fuse": say("fused"), "reorder": say("reordered")},
    "annotate": {
        "vectorize": say("vectorized"),
        "parallel": say("parallel"),
        "unroll": say("unrolled"),
    },
}


@check("schedule_steps", needs=("replay",), options=StepOptions)
def schedule_steps(case: Case, options: StepOptions) -> Outcome:
    """The schedule takes the required steps."""
    subject = Subject(options.weight, case.comparison)
    functions = _functions(case, subject)
    if not functions:
        return not_graded(subject.missing)
    base = subject.find(case.candidate.base) if case.candidate.base is not None else None
    steps = reduce(and_, (_steps_of(each, base, options.weight) for each in functions))
    points = options.points()
    done = [name for name in points if _is_done(name, steps)]
    missing = [name for name in points if name not in done]
    lacking = {name: _blocks_without(name, functions, base, options.weight) for name in missing}
    sentences = _spell(steps, done, lacking)
    if steps and case.evidence.replay is not None:
        sentences.append(case.evidence.replay.provenance)
    earned = sum(points[name] for name in done)
    hint = _next_step(points, lacking, _measured_steps(case))
    return partial(earned / sum(points.values()), join(*sentences), hint)


def _measured_steps(case: Case) -> StepSpeeds | None:
    timed = case.evidence.timed
    return timed.timing.steps if isinstance(timed, TimedSchedule) else None


def _steps_of(function: FunctionFacts, base: FunctionFacts | None, weight: tuple[int, ...]) -> Done:
    return find_steps(function, base, weight) | find_stages(function, base, weight)


def _functions(case: Case, subject: Subject) -> tuple[FunctionFacts, ...]:
    """Return the functions that must show the steps: one, or all that do the convolution."""
    if subject.weight:
        return find_convolutions(case.candidate.facts, subject.weight)
    function = subject.find(case.candidate.facts)
    return () if function is None else (function,)


def _is_done(name: Paid, steps: Done) -> bool:
    return name in steps and (name != "vectorize" or "contiguous" in steps)


Lacking = Mapping[Paid, tuple[str, ...]]
"""The steps that are missing, each with the blocks that lack it where others have it."""


def _blocks_without(
    name: Paid,
    functions: tuple[FunctionFacts, ...],
    base: FunctionFacts | None,
    weight: tuple[int, ...],
) -> tuple[str, ...]:
    if name not in get_args(Step):
        return ()
    step = cast("Step", name)
    found = (blocks_without(step, each, base, weight) for each in functions)
    return tuple(name for names in found for name in names if is_name(name))


def _spell(steps: Done, done: list[Paid], lacking: Lacking) -> list[Text]:
    sentences = []
    if done:
        names = in_a_row(_name(name, steps) for name in done)
        sentences.append(say("done", steps=names))
    nowhere = [name for name, blocks in lacking.items() if not blocks]
    if nowhere:
        names = in_a_row(_WORDING[name][0] for name in nowhere)
        sentences.append(say("not-seen", steps=names))
    for name, blocks in lacking.items():
        if blocks:
            step = _WORDING[name][0]
            sentences.append(say("not-seen-in-blocks", step=step, blocks=_quoted(blocks)))
    if "vectorize" in steps and "contiguous" not in steps:
        sentences.append(_SCATTERED)
    return sentences


def _name(name: Paid, steps: Done) -> Text:
    """Name a step that was done; one that may be done in several ways says how it was."""
    ways = [text for step, text in _PARTS.get(name, {}).items() if step in steps]
    step = _WORDING[name][0]
    return say("step-ways", step=step, ways=in_a_row(ways)) if ways else step


def _quoted(blocks: tuple[str, ...]) -> Text:
    return in_a_row(shown(each) for each in blocks)


def _next_step(points: dict[Paid, float], lacking: Lacking, speeds: StepSpeeds | None) -> Text:
    """Say what to do next: the step that earns most, and of these the one that helps most.

    A step that was measured as a loss is asked for as what earns points, and not as what helps.
    """
    if not lacking:
        return NOTHING
    best = min(lacking, key=lambda name: (-points[name], _WORTH.index(name)))
    if is_costly(speeds, _PRIMITIVES.get(best, (best,))):
        return say("assignment-asks-for-this-step-where-your", step=_WORDING[best][0])
    if lacking[best]:
        return join(_WORDING[best][1], say("do-so-in-blocks-too", blocks=_quoted(lacking[best])))
    return _WORDING[best][1]
