"""Checks of a schedule: which steps were done, and whether it arrives at the target."""

from __future__ import annotations

from functools import reduce
from operator import and_
from typing import Annotated, Literal, cast, get_args

import msgspec

from grader.assignment import Points, Table
from grader.checks.difference import THIRDS, Third, compare_functions
from grader.evidence.case import Case, Problem, TargetMatch, TimedSchedule
from grader.evidence.registry import Outcome, check, failed, not_graded, partial, passed
from grader.evidence.stages import Stage, find_stages
from grader.evidence.steps import Step, find_steps
from grader.evidence.subject import Subject, find_convolutions
from grader.ir.facts import FunctionFacts
from grader.language import NOTHING, Text, in_a_row, join, say
from grader.measurement.steps.advice import is_costly
from grader.messages import TRIAL_LIMIT
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
    """The required steps of the schedule are done."""
    subject = Subject(options.weight, case.comparison)
    functions = _functions(case, subject)
    if not functions:
        return not_graded(subject.missing)
    base = subject.find(case.candidate.base) if case.candidate.base is not None else None
    steps = reduce(and_, (_steps_of(each, base, options.weight) for each in functions))
    points = options.points()
    done = [name for name in points if _is_done(name, steps)]
    missing = [name for name in points if name not in done]
    sentences = _spell(steps, done, missing)
    if steps and case.evidence.replay is not None:
        sentences.append(case.evidence.replay.provenance)
    earned = sum(points[name] for name in done)
    hint = _next_step(points, missing, _measured_steps(case))
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


def _spell(steps: Done, done: list[Paid], missing: list[Paid]) -> list[Text]:
    sentences = []
    if done:
        names = in_a_row(_name(name, steps) for name in done)
        sentences.append(say("done", steps=names))
    if missing:
        names = in_a_row(_WORDING[name][0] for name in missing)
        sentences.append(say("not-seen", steps=names))
    if "vectorize" in steps and "contiguous" not in steps:
        sentences.append(_SCATTERED)
    return sentences


def _name(name: Paid, steps: Done) -> Text:
    """Name a step that was done; one that may be done in several ways says how it was."""
    ways = [text for step, text in _PARTS.get(name, {}).items() if step in steps]
    step = _WORDING[name][0]
    return say("step-ways", step=step, ways=in_a_row(ways)) if ways else step


def _next_step(points: dict[Paid, float], missing: list[Paid], speeds: StepSpeeds | None) -> Text:
    """Say what to do next: the step that earns most, and of these the one that helps most.

    A step that was measured as a loss is asked for as what earns points, and not as what helps.
    """
    if not missing:
        return NOTHING
    best = min(missing, key=lambda name: (-points[name], _WORTH.index(name)))
    if is_costly(speeds, _PRIMITIVES.get(best, (best,))):
        return say("assignment-asks-for-this-step-where-your", step=_WORDING[best][0])
    return _WORDING[best][1]


class SpaceOptions(Table, frozen=True):
    """`trials` schedules are drawn, and so many `different` programs asked for among them."""

    trials: Annotated[int, msgspec.Meta(ge=1, le=TRIAL_LIMIT)] = 16
    different: Annotated[int, msgspec.Meta(ge=2)] = 4

    def __post_init__(self) -> None:
        """Refuse to ask for more programs than are drawn."""
        if self.different > self.trials:
            raise ValueError(f"{self.different} different programs are more than are drawn")


@check("search_space", needs=("search",), options=SpaceOptions)
def search_space(case: Case, options: SpaceOptions) -> Outcome:
    """The space leaves a choice between schedules.

    The other checks of the part are about the fastest of those that were drawn.
    """
    found = case.evidence.search
    if found is None or (isinstance(found, Problem) and found.again):
        return not_graded(found or Problem(say("space-not-searched"), code="not_run"))
    if isinstance(found, Problem):
        return failed(found.reason, found.hint, code=found.code)
    # One program is no choice, however often it is drawn.
    share = (found.different - 1) / (options.different - 1)
    return partial(
        min(1.0, share),
        say(
            "schedules-drawn-from-space-impossible-distinct-programs",
            trials=found.trials,
            failed=found.failed,
            different=found.different,
        ),
        say("draw-more-different-programs-asked-for-each", different=options.different),
    )


_THIRDS: dict[Third, Text] = {
    "loops": say("loops-sum"),
    "annotations": say("which-loops-parallel-vectorized-and-unrolled"),
    "places": say("where-initialisation-and-other-blocks"),
}

_EQUAL = say("target-tvm-finds-both-structurally-equal")
_ALIKE = say("has-targets-loops-annotations-and-blocks-tvm")
_PROVE = say("steps-count-here-not-result-that-written")


class TargetOptions(Table, frozen=True):
    """`unproven` is the share that is left where no trace proves the schedule.

    Students are shown the target: what is copied from there was not scheduled.
    """

    unproven: Annotated[float, msgspec.Meta(ge=0, le=1)] = 1.0


@check("target", needs=("target", "replay"), options=TargetOptions)
def target(case: Case, options: TargetOptions) -> Outcome:
    """The scheduled function is the target.

    A third of the points is for the loops of the sum, one for their annotations, and one for the
    places of the initialisation and of other blocks; names count for nothing.
    """
    match = case.evidence.target
    if isinstance(match, Problem) or match is None:
        return not_graded(
            match or Problem(say("function-not-compared-with-target"), code="not_run")
        )
    replay = case.evidence.replay
    provenance = NOTHING if replay is None else replay.provenance
    found = passed(join(_EQUAL, provenance)) if match.equal else _compare(match, provenance)
    if options.unproven < 1 and found.fraction > 0 and not (replay and replay.proven):
        return partial(options.unproven * found.fraction, found.reason, _PROVE)
    return found


def _compare(match: TargetMatch, provenance: Text) -> Outcome:
    likeness = compare_functions(match.wanted, match.found)
    if likeness.first is None:
        return passed(join(_ALIKE, provenance))
    done = [_THIRDS[each] for each in likeness.right]
    reason = say("first-difference-from-target", reason=likeness.first.reason)
    if done:
        reason = join(say("as-in-target", done=in_a_row(done)), reason, provenance)
    # With a difference somewhere, all thirds cannot be right: it is in one of them.
    return partial(len(likeness.right) / len(THIRDS), reason, likeness.first.hint)
