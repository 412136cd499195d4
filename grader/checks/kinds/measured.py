"""Checks of what a module did when it ran: its outputs beside PyTorch, its externs, its speed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from grader.assignment import Table
from grader.checks.kinds.graph import input_passes_by
from grader.diagnosis.words import name_layer
from grader.errors import CourseError
from grader.evidence.case import Case, JudgedLayer, Outputs, Problem, TimedSchedule
from grader.evidence.named_cases import tell_wrong
from grader.evidence.problems import WRITE_THE_BUFFER, explain, wrong_samples
from grader.evidence.registry import (
    NOT_RUN,
    NoOptions,
    Outcome,
    check,
    failed,
    not_graded,
    partial,
    passed,
)
from grader.evidence.steps import NO_STEPS, find_steps
from grader.evidence.subject import Subject, takes_weight
from grader.ir.facts import Call, ModuleFacts
from grader.language import Text, below, in_a_row, in_clauses, join, say
from grader.measurement.hot_loops import explain as explain_speed
from grader.measurement.points import SpeedOptions, speed_fraction
from grader.measurement.steps.advice import is_costly, is_gain, look_at
from grader.report import Diagnosis, Timing, Verdict


class EquivalenceOptions(Table, frozen=True):
    """Options of the check.

    With `partial = "steps"` a wrong module earns the points of the layers that are right where
    PyTorch's values are put in place of the wrong ones. `weights` has a share for each of PyTorch's
    layers that changes numbers, in their order; without them, all weigh the same.
    """

    partial: Literal["none", "steps"] = "none"
    weights: tuple[float, ...] = ()

    @property
    def shares_points(self) -> bool:
        """Whether layers earn points by themselves."""
        return self.partial == "steps"


@check("equivalence", options=EquivalenceOptions, needs=("outputs",))
def equivalence(case: Case, options: EquivalenceOptions) -> Outcome:
    """The outputs are right.

    They do on the whole test set and on hidden inputs. Shape, dtype and finiteness are looked at
    first, then every value within the assignment's tolerance.
    """
    outputs, diagnosis = case.evidence.outputs, case.evidence.diagnosis
    if isinstance(outputs, Problem) or outputs is None:
        problem = outputs or NOT_RUN
        return not_graded(problem if diagnosis is None else _located(problem, diagnosis))
    wrong = wrong_samples(outputs, case.comparison)
    if wrong.any():
        told = diagnosis or case.evidence.schedule
        problem = explain(outputs, wrong, case.comparison, told)
        others = ((each.cases, wrong_samples(each, case.comparison)) for each in outputs.others)
        reason = join(problem.reason, *tell_wrong([(outputs.cases, wrong), *others]))
        problem = replace(problem, reason=reason)
        if case.evidence.layers:
            said = _told(case.evidence.layers, diagnosis)
            return _carried(case.evidence.layers, options.weights, problem, said)
        if options.shares_points:
            problem = replace(problem, reason=join(reason, _NO_LAYERS))
        return failed(problem.reason, problem.hint, code=problem.code)
    images = int(outputs.from_test_set.sum())
    hidden = len(wrong) + sum(len(each.desired) for each in outputs.others) - images
    if not images:
        return passed(say("all-hidden-inputs-give-right-outputs", hidden=hidden))
    return passed(say("all-test-images-and-hidden-inputs-give", images=images, hidden=hidden))


_NO_LAYERS = say("no-layer-earns-points-by-itself-steps")
_UNUSED_LAYERS = say("with-pytorchs-values-in-place-wrong-ones-layers")
_WRONG_LAYERS = say("with-pytorchs-values-in-place-wrong-ones")


def _carried(
    layers: tuple[JudgedLayer, ...], weights: tuple[float, ...], problem: Problem, said: Text
) -> Outcome:
    """Give what the layers are worth that are right in themselves.

    Never all of it: where no layer is lost that has a weight, the smallest share is.
    """
    all_shares = shares([each.name for each in layers], weights)
    right = sum(share for share, each in zip(all_shares, layers, strict=True) if each.is_right)
    right = min(right, sum(all_shares) - min(each for each in all_shares if each > 0))
    # Some points or none, it is the same that is wrong.
    return partial(right / sum(all_shares), join(problem.reason, said), problem.hint, problem.code)


def _told(layers: tuple[JudgedLayer, ...], diagnosis: Diagnosis | None) -> Text:
    """Say which layers are right in themselves.

    Of a step that is right and that nobody takes, the layer is lost, and no numbers are wrong.
    """
    lost = [each for each in layers if not each.is_right]
    wrong = [_name(each) for each in lost]
    if not wrong:
        return say("each-layer-right-by-itself-fault-comes")
    is_unused = all(_is_unused(each.name, layers, diagnosis) for each in lost)
    told = say(
        _UNUSED_LAYERS if is_unused else _WRONG_LAYERS,
        right=len(layers) - len(wrong),
        count=len(layers),
        wrong=in_a_row(wrong),
    )
    # Of the layer alone that is told as wrong, nothing more is to be said.
    if is_unused or len(lost) == 1 or not _is_apart(diagnosis):
        return told
    return join(told, say("layer-of-other-shape-cannot-be-tried"))


def _name(layer: JudgedLayer) -> Text:
    name = name_layer(layer.name)
    if not layer.before:
        return name
    return say("layer-with-the-one-before", layer=name, before=name_layer(layer.before))


def _is_apart(diagnosis: Diagnosis | None) -> bool:
    """Say whether the first wrong step has another shape than PyTorch's layer: what follows cannot
    be given PyTorch's values then.
    """
    if diagnosis is None or diagnosis.wanted is None or diagnosis.wrong >= len(diagnosis.steps):
        return False
    return diagnosis.steps[diagnosis.wrong].shape != diagnosis.wanted


def _is_unused(name: str, layers: tuple[JudgedLayer, ...], diagnosis: Diagnosis | None) -> bool:
    """Say whether a lost layer is that of a right step, and another one is taken or returned."""
    if diagnosis is None or diagnosis.mistake not in ("other_operand", "other_step_returned"):
        return False
    told = name_layer(name)
    right = sum(each.status == "right" and each.layer == told for each in diagnosis.steps)
    return right == sum(each.name == name for each in layers)


def shares(layers: Sequence[str], weights: tuple[float, ...]) -> tuple[float, ...]:
    """Return what each of some layers is worth. Raises CourseError for weights that do not fit."""
    if not weights:
        return (1.0,) * len(layers)
    if len(weights) != len(layers) or min(weights) < 0 or sum(weights) <= 0:
        raise CourseError(
            say("equivalence-check-has-weights", count=len(weights), weights=str(list(weights))),
            say("pytorch-has-layers-give-one-number", count=len(layers), names=in_a_row(layers)),
        )
    return weights


def _located(problem: Problem, diagnosis: Diagnosis) -> Problem:
    """Return why a module could not be run, and in which step of it.

    What to do about the error is said already, unless the step's mistake is known; of an index that
    leaves its buffer, the diagnosis says all.
    """
    connect = below if problem.quotes else join
    is_all = problem.code == "out_of_bounds"
    reason = diagnosis.message if is_all else connect(problem.reason, diagnosis.message)
    hint = diagnosis.advice if diagnosis.mistake or not problem.hint else problem.hint
    return Problem(reason, hint, code=problem.code)


# Checks of work that is left to registered external functions.


class ExternOptions(Table, frozen=True):
    """`weight` is the shape of the weight of the layer that the extern has to compute.

    `through`: the model's input reaches its output through this layer only, as in a chain of
    layers, so with the extern replaced by noise it must not matter.
    """

    weight: tuple[int, ...]
    through: bool = False


@check("extern_call", options=ExternOptions, needs=("stubs", "outputs"))
def extern_call(case: Case, options: ExternOptions) -> Outcome:
    """The convolution is done by an external function.

    Two things are looked at. In the graph: the convolution's weight goes to an extern (or an extern
    makes the feature maps from the input), and to no TIR function or operator. In runs with every
    extern replaced by noise: different noise must give different outputs, otherwise the extern's
    result is not used. An extern that never writes its output has computed nothing. With `through`,
    different inputs must not, and the graph must show no way for them either: a module could notice
    the noise, and behave.
    """
    facts = case.candidate.facts
    externs = [call for call in facts.calls if call.kind == "extern"]
    if not externs:
        return failed(
            say("module-calls-no-external-function"),
            say("register-function-for-example-env-conv2d"),
        )
    inside = [call for call in facts.calls if _is_inside(call, options)]
    if inside:
        return failed(
            say("convolution-computed-by-inside-module", callee=inside[0].callee),
            say("compute-in-external-function-and-drop-layer"),
        )
    layer = [call for call in externs if takes_weight(call, options.weight)]
    layer = layer or _feature_calls(externs, options)
    if not layer:
        return failed(
            say("no-external-function-takes-convolutions-weight"),
            say("pass-input-weight-and-bias-if-you"),
        )
    return _never_written(case, {call.callee for call in layer}) or _judge_flow(
        case, layer, options
    )


def _never_written(case: Case, names: set[str]) -> Outcome | None:
    """Return the failure of an extern that leaves its output as it is: it computes nothing."""
    outputs = case.evidence.outputs
    if isinstance(outputs, Problem) or outputs is None:
        return None
    unwritten = sorted(names.intersection(outputs.unwritten))
    if not unwritten:
        return None
    return failed(
        say("never-wrote-last-argument-output-buffer", name=unwritten[0]),
        WRITE_THE_BUFFER,
        code="unwritten",
    )


def _is_inside(call: Call, options: ExternOptions) -> bool:
    return call.kind != "extern" and takes_weight(call, options.weight)


def _feature_calls(externs: list[Call], options: ExternOptions) -> list[Call]:
    """Find an extern that holds its weight itself: it makes as many channels as the weight has."""
    for call in externs:
        shape = call.result.shape if call.result is not None else None
        if shape and len(shape) == len(options.weight) and shape[1] == options.weight[0]:
            return [each for each in externs if each.callee == call.callee]
    return []


def _judge_flow(case: Case, layer: list[Call], options: ExternOptions) -> Outcome:
    """Judge whether the output depends on the layer's extern, and on the input by way of it."""
    name, facts, stubs = layer[0].callee, case.candidate.facts, case.evidence.stubs
    if isinstance(stubs, Problem) or stubs is None:
        return not_graded(stubs or NOT_RUN)
    if np.array_equal(stubs.first, stubs.second, equal_nan=True):
        return failed(
            say("called-but-models-output-does-not-depend", name=name),
            say("use-result-external-function-as-input-next"),
        )
    if options.through:
        places = {place for place, call in enumerate(facts.calls) if call in layer}
        same = np.array_equal(stubs.first, stubs.elsewhere, equal_nan=True)
        if input_passes_by(facts, places) or not same:
            return failed(
                say("called-but-models-input-reaches-output-past", name=name),
                say("make-next-layer-external-functions-result-alone"),
            )
    return passed(say("external-function-computes-convolution", name=name))


@check("writes_output", options=NoOptions, needs=("outputs",))
def writes_output(case: Case, _options: NoOptions) -> Outcome:
    """The external functions write their output argument."""
    outputs = case.evidence.outputs
    if isinstance(outputs, Problem) or outputs is None:
        return not_graded(outputs or NOT_RUN)
    unwritten = _never_written(case, _extern_names(case.candidate.facts))
    if unwritten is not None:
        return unwritten
    with np.errstate(invalid="ignore"):  # what was never written may be a signalling NaN
        is_finite = np.isfinite(np.asarray(outputs.actual, dtype=np.float64)).all()
    if not is_finite:
        return failed(
            say("some-output-nan-or-infinite-like-memory"),
            say("write-every-element-output-argument-in-every"),
            code="not_finite",
        )
    return passed(say("every-call-wrote-every-output-buffer"))


def _extern_names(facts: ModuleFacts) -> set[str]:
    return {call.callee for call in facts.calls if call.kind == "extern"}


# The check of speed: what a schedule brought, measured beside the course's own.


ALLOWANCE = 1.1
"""A result may be so many times faster than the machine's measured limit: micro-benchmarks and the
processor's clock rate are not exact."""


@check("speed", options=SpeedOptions, needs=("timing", "replay"))
def speed(case: Case, options: SpeedOptions) -> Outcome:
    """The scheduled function is faster than the unscheduled one."""
    timed = case.evidence.timed
    if isinstance(timed, Problem) or timed is None:
        problem = timed or Problem(say("schedule-not-timed"), code="not_run")
        return not_graded(_OTHER_BASELINE if _is_right(case, problem, options) else problem)
    if not timed.outputs_right:
        return failed(
            say("function-gave-wrong-values-while-timed"),
            say("schedule-must-not-change-result-check"),
            code="values",
        )
    timing = timed.timing
    if timing.ci_high < 1.0:
        return _slower(case, timed, options)
    return _hold(timing, options) or _judge(timed, options)


_OTHER_BASELINE = Problem(
    say("speed-not-judged-outputs-right-and-baseline-gives-others"),
    say("not-your-fault-workload-must-compute-what-oracle-does"),
    code="other_baseline",
)


def _is_right(case: Case, problem: Problem, options: SpeedOptions) -> bool:
    """Say whether the course's baseline is another function, and not the submission.

    Right outputs of a whole model, or of a `main`, do not say that a function in it computes them.
    Integers that are off by what the course allows are the submission's own.
    """
    outputs, has_main = case.evidence.outputs, case.candidate.facts.has_main
    if problem.code != "other_computation" or options.weight or has_main:
        return False
    if not isinstance(outputs, Outputs) or wrong_samples(outputs, case.comparison).any():
        return False
    return outputs.actual.dtype.kind not in "biu" or np.array_equal(outputs.actual, outputs.desired)


def _slower(case: Case, timed: TimedSchedule, options: SpeedOptions) -> Outcome:
    """Say why a schedule costs more than it brings, as far as machine code and steps show it."""
    timing = timed.timing
    differences = explain_speed(timed.hot_loops, timing)
    function = Subject(options.weight, case.comparison).find(case.candidate.facts)
    steps = find_steps(function, None, options.weight) if function is not None else NO_STEPS
    causes = []
    speeds = timing.steps
    if (
        "vectorize" in steps
        and "contiguous" not in steps
        and not is_gain(speeds, ("vectorize", "annotate"))
    ):
        causes.append(say("vectors-stored-scattered-places-number-by-number"))
    # with one thread they are timed as plain loops
    if "parallel" in steps and timing.threads > 1 and not is_gain(speeds, ("parallel",)):
        causes.append(say("starting-parallel-tasks-takes-longer-than-doing"))
    if not causes and not differences:
        causes.append(say("compiler-vectorizes-plain-loops-by-itself"))
    verdict = say("yours-slower-than-unscheduled-function")
    if causes:
        verdict = say(
            "yours-slower-than-unscheduled-function-likely-causes", causes=in_clauses(causes)
        )
    back = say("undo-steps-until-no-longer-slower-unscheduled", speedup=timing.speedup)
    reason = join(_measured(timing), verdict, *differences)
    return failed(reason, join(back, look_at(speeds)), code="slower")


def _hold(timing: Timing, options: SpeedOptions) -> Outcome | None:
    """Give no points for what cannot be believed, as a schedule only reorders the same work."""
    beyond = None
    if any(ALLOWANCE * shape.submission_us < shape.floor_us for shape in timing.shapes):
        beyond = say(
            "this-faster-than-this-machine-can-multiply",
            peak=timing.peak_gflops,
            bandwidth=timing.bandwidth_gbs,
        )
    elif timing.ci_low > options.held_above * timing.reference_speedup:
        beyond = say("more-than-times-references-speed-beyond-what", most=options.held_above)
    if beyond is None:
        return None
    return not_graded(
        Problem(
            join(_measured(timing), beyond),
            say("you-need-not-do-anything-if-function"),
            code="held",
        )
    )


def _measured(timing: Timing) -> Text:
    return say(
        "function-times-as-fast-as-unscheduled-one",
        speedup=timing.speedup,
        low=timing.ci_low,
        high=timing.ci_high,
        reference=timing.reference_speedup,
    )


def _judge(timed: TimedSchedule, options: SpeedOptions) -> Outcome:
    timing = timed.timing
    measured = _measured(timing)
    fraction, low, high = (
        speed_fraction(share, timing.reference_speedup, options)
        for share in (timing.share, timing.share_low, timing.share_high)
    )
    if fraction >= 1.0:
        return Outcome("passed", fraction, measured, interval=high - low, code="passed")
    # Not "do this": unrolling a tile that spills its sums, or vectors of 13 numbers, cost time.
    hint = _next(timing)
    goal = timing.reference_speedup ** min(1.0, options.full_at)
    full = say("full-points-from", goal=goal)
    reason = join(measured, full, *explain_speed(timed.hot_loops, timing))
    verdict: Verdict = "partial" if fraction > 0 else "failed"
    width, above = high - low, high - fraction
    return Outcome(verdict, fraction, reason, hint, interval=width, code="incomplete", above=above)


def _next(timing: Timing) -> Text:
    """Say what to do next; nothing that was measured as a loss in this very schedule."""
    if is_costly(timing.steps, ("vectorize", "unroll", "split")):
        return join(
            say("reference-schedule-measured-beside-yours-faster"),
            look_at(timing.steps),
            say("change-one-thing-at-time"),
        )
    hint = say("reference-schedule-measured-beside-yours-faster-keeps")
    return join(hint, look_at(timing.steps))
