"""From outputs that differ to a diagnosis: the module is run step by step beside PyTorch.

What is told of a hidden input are shapes, names and how large differences are beside the largest
number, never a value.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from grader.assignment import Assignment, PartTable
from grader.diagnosis.align import Alignment, Observed, closest
from grader.diagnosis.extents import with_other_extent
from grader.diagnosis.fixed import standing_indices
from grader.diagnosis.layers import known as as_known
from grader.diagnosis.layers import tolerance_of
from grader.diagnosis.mended import Other, with_mended_statement
from grader.diagnosis.multiplied import with_multiplied_sum
from grader.diagnosis.own_buffers import (
    with_conditional_store,
    with_lesser_sum,
    with_misplaced_init,
    with_unset_sum,
    with_unwritten_buffer,
)
from grader.diagnosis.returned import with_returned_argument
from grader.diagnosis.statements import shapes_of
from grader.diagnosis.tracing import (
    Traced,
    arguments_of,
    gather_trace,
    of_memory,
    tried_on_zeros,
)
from grader.diagnosis.words import Departure, name_layer, tell, with_parameters
from grader.evidence.case import Candidate, Outputs, Problem
from grader.evidence.operations import Layer
from grader.evidence.oracle import Oracle
from grader.evidence.problems import wrong_samples
from grader.evidence.runners import RunnerPool
from grader.language import NOTHING
from grader.report import Diagnosis, MistakeKind, Step

Shape = tuple[int, ...]

ROWS = 64
"""Samples that a batch is filled with at most."""

_NEAR = 1e-3
"""Numbers so near to each other, beside the largest one, count as equal elements."""


class Diagnosed(NamedTuple):
    """What is diagnosed: a candidate of a part, and what is right."""

    candidate: Candidate
    part: PartTable
    assignment: Assignment
    oracle: Oracle


def diagnose(
    diagnosed: Diagnosed, outputs: Outputs | Problem, runners: RunnerPool
) -> Diagnosis | None:
    """Return where a candidate departs from PyTorch, None where that is unknown.

    `outputs` are what it returned for the oracle's inputs, or why it could not be run on them.
    """
    found = look(diagnosed, outputs, runners)
    if found is None:
        return None
    traced, layers, alignment = found
    if alignment.wrong is None:
        return None
    is_unwritten = traced.steps[alignment.wrong].is_unwritten
    if alignment.mistake is None and _is_unseen(traced.steps) and not is_unwritten:
        return None
    return _diagnosis(diagnosed, traced, layers, alignment)


def look(diagnosed: Diagnosed, outputs: Outputs | Problem, runners: RunnerPool) -> Look | None:
    """Return the call of a candidate that shows most of where it departs, None without any."""
    rows = choose_rows(outputs, diagnosed)
    found = _look(diagnosed, outputs, runners, rows) if rows else None
    if found is not None and (_may_be_input(found) or _may_be_of_zeros(found, diagnosed)):
        other = _look(diagnosed, outputs, runners, _telling_first(diagnosed, outputs, found))
        found = other if other is not None and _says_more(other, found) else found
    return found


class Look(NamedTuple):
    """One call: its steps, PyTorch's layers on the same samples, and both side by side."""

    traced: Traced
    layers: tuple[Layer, ...]
    alignment: Alignment


def _look(
    diagnosed: Diagnosed, outputs: Outputs | Problem, runners: RunnerPool, rows: Sequence[int]
) -> Look | None:
    """Return one call on the samples at `rows`; None where nothing is seen of it."""
    candidate, part, oracle = diagnosed.candidate, diagnosed.part, diagnosed.oracle
    traced = gather_trace(candidate, part, oracle, runners, rows)
    if isinstance(traced, Problem) or not traced.steps:
        return None
    layers = oracle.layers_for(traced.arguments)
    alignment, tolerance = closest(
        traced.steps,
        layers,
        tolerance_of(oracle.options.dtype),
        _returned(outputs, traced),
        standing_indices(candidate.facts),
    )
    if of_memory(alignment):
        cleared = gather_trace(candidate, part, oracle, runners, rows, cleared=True)
        steps = () if isinstance(cleared, Problem) else cleared.steps
        alignment = tried_on_zeros(alignment, traced.steps, steps, layers)
    alignment = with_returned_argument(alignment, candidate.facts, traced.steps, layers)
    if alignment.wrong is not None:
        step = traced.steps[alignment.wrong]
        alignment = with_multiplied_sum(alignment, candidate.facts, step.callee, step.variable)
        alignment = with_unset_sum(alignment, candidate.facts, step.callee)
        alignment = with_lesser_sum(alignment, candidate.facts, step, layers, tolerance)
        alignment = with_unwritten_buffer(alignment, candidate.facts, step.callee)
        alignment = with_conditional_store(alignment, candidate.facts, step.callee)
        alignment = with_mended_statement(
            *(alignment, candidate.facts, traced, layers, tolerance, candidate.base),
            others=_others(diagnosed, traced.rows),
        )
        alignment = with_misplaced_init(alignment, candidate.facts, step.callee)
        alignment = with_other_extent(alignment, traced.steps, layers)
    return Look(traced, layers, alignment)


def _others(diagnosed: Diagnosed, rows: Sequence[int]) -> tuple[Other, ...]:
    """Return samples beside those at `rows`, of a function alone whose calls have one each."""
    candidate, oracle = diagnosed.candidate, diagnosed.oracle
    if candidate.facts.has_main:  # of its functions no other arguments are known
        return ()
    arrangement = oracle.arrange(diagnosed.part, candidate.signature)
    if isinstance(arrangement, Problem) or arrangement.is_batched:
        return ()
    others = [each for each in range(arrangement.samples) if each not in rows]
    calls = (arrangement.chosen((each,))[0] for each in others)
    return tuple(
        Other(arguments_of(call, oracle), as_known(oracle.desired[row]))
        for row, call in zip(others, calls, strict=True)
    )


def _kind(found: Look) -> MistakeKind | Literal[""]:
    mistake = found.alignment.mistake
    return "" if mistake is None else mistake.kind


def _may_be_input(found: Look) -> bool:
    """Say whether a value of zeros may be the beginning of an input: images have black edges."""
    wrong = found.alignment.wrong
    value = None if wrong is None else found.traced.steps[wrong].value
    if _kind(found) != "zeros" or value is None:
        return False
    # The corner of an image is black: its first numbers are the zeros of a step that was never
    # computed, and of one that returns its input.
    return any(not np.resize(each, value.size).any() for each in found.traced.arguments)


def _may_be_of_zeros(found: Look, diagnosed: Diagnosed) -> bool:
    """Say whether what was seen may come of zeros in the input, of an image's edge or of a ReLU.

    A sum of which the last term alone is left is 0 where that is 0, and what is done wrongly to
    zeros is right: both look like something else. Or like nothing: where each of two layers has
    such a sum, the first one gives its bias alone, of an image with a black corner.
    """
    mistake, wrong = found.alignment.mistake, found.alignment.wrong
    if mistake is None:
        is_seen = wrong is not None and found.traced.steps[wrong].value is not None
        return is_seen and bool(diagnosed.oracle.from_test_set[list(found.traced.rows)].any())
    is_bias = mistake.kind == "operand_missing" and mistake.facts["operand"] == "product"
    return is_bias or (mistake.kind == "partly_right" and "start" in mistake.facts)


def _says_more(other: Look, found: Look) -> bool:
    """Say whether a second look shows what the first one only seemed to be."""
    if _kind(found) == "zeros":
        return _kind(other) == "input_returned"
    wrong, before = other.alignment.wrong, found.alignment.wrong
    if wrong is None or before is None or _kind(other) == _kind(found):
        return False
    # Where most numbers are right by chance, it is no edge, even if nothing else is known.
    if _kind(found) == "partly_right":
        return True
    if _kind(found) == "":
        # What departs on an image and not on noise is still the first step that does. That most
        # numbers are right explains nothing.
        return _kind(other) not in ("", "partly_right") and wrong <= before
    return _kind(other) != ""


def _telling_first(
    diagnosed: Diagnosed, outputs: Outputs | Problem, found: Look
) -> tuple[int, ...]:
    """Return places of samples, first those of which a product's last term is nowhere 0.

    Of the others hidden inputs come first: those are nowhere zero.
    """
    from_test_set = diagnosed.oracle.from_test_set[: _samples(outputs, diagnosed)]
    rows = [int(each) for each in np.argsort(from_test_set, kind="stable")[:ROWS]]
    mistake = found.alignment.mistake
    place = None if mistake is None else mistake.place
    layers = diagnosed.oracle.layers(rows) if place is not None else ()
    if place is not None and place < len(layers):
        before = layers[place].operation.operands[0].layer
        summed = layers[place if before is None else before].operation.operands[0].value
        if len(summed) == len(rows) and summed.ndim == 2:
            order = np.argsort(np.asarray(summed[:, -1]) == 0, kind="stable")
            rows = [rows[int(each)] for each in order]
    return tuple(rows)


def _samples(outputs: Outputs | Problem, diagnosed: Diagnosed) -> int:
    """Return how many of the oracle's samples the part is run on, also where it gave no outputs."""
    if isinstance(outputs, Outputs):
        return len(outputs.desired)
    return diagnosed.part.samples or len(diagnosed.oracle.from_test_set)


def _is_unseen(steps: Sequence[Observed]) -> bool:
    """Say whether all that is known is that the one function there is gave nothing.

    Of its buffers the first was called wrong for any of them, and those before the one that an edit
    mends were said to be no layers of PyTorch's.
    """
    return all(each.value is None for each in steps) and len({each.callee for each in steps}) == 1


def choose_rows(outputs: Outputs | Problem, diagnosed: Diagnosed) -> tuple[int, ...]:
    """Return places of samples that are wrong, test images first, and of others to fill a batch.

    Drawn samples come before those of named cases. Of a state of zeros, or values that are all one,
    steps are right by chance. Then come those that are about as wrong as the worst one: without
    the epsilon of a norm, only a tiny variance shows what is wrong.
    """
    from_test_set = diagnosed.oracle.from_test_set[: _samples(outputs, diagnosed)]
    named = np.zeros_like(from_test_set)
    for case in diagnosed.oracle.cases:
        named[case.start : case.stop] = True
    right = faint = np.zeros_like(from_test_set)
    if isinstance(outputs, Outputs):
        right = ~wrong_samples(outputs, diagnosed.oracle.options)
        errors = _relative_errors(outputs)
        worst = errors[~right & ~named & np.isfinite(errors)].max(initial=0.0)
        faint = errors < worst / 2
    order = np.lexsort((faint, named, ~from_test_set, right))
    return tuple(int(each) for each in order[:ROWS])


def _relative_errors(outputs: Outputs) -> npt.NDArray[np.float64]:
    """Return each sample's largest error relative to its largest right value, inf if not finite."""
    if outputs.actual.shape != outputs.desired.shape:
        return np.full(len(outputs.desired), np.inf)
    flat = (len(outputs.desired), -1)
    with np.errstate(all="ignore"):  # what was never written may be a signalling NaN
        actual, desired = (
            each.astype(np.float64).reshape(flat) for each in (outputs.actual, outputs.desired)
        )
        errors = np.abs(actual - desired).max(axis=1) / np.abs(desired).max(axis=1)
    return np.where(np.isnan(errors), np.inf, errors)


def _returned(outputs: Outputs | Problem, traced: Traced) -> npt.NDArray[np.generic] | None:
    """Return what the candidate returned for the samples of the traced call, if that is known."""
    if isinstance(outputs, Problem) or not traced.rows:
        return None
    if max(traced.rows) >= len(outputs.actual):
        return None
    return outputs.actual[list(traced.rows)]


_KEPT = frozenset({"layer_left_out", "other_activation"})
"""Mistakes in what a pass has taken away: nobody wrote what it put there."""


def _diagnosis(
    diagnosed: Diagnosed, traced: Traced, layers: Sequence[Layer], alignment: Alignment
) -> Diagnosis:
    assert alignment.wrong is not None
    step = traced.steps[alignment.wrong]
    departure = _departure(diagnosed, traced.steps, layers, alignment)
    mistake = alignment.mistake
    kind = "" if mistake is None else mistake.kind
    facts = {} if mistake is None else with_parameters(mistake.facts, traced.parameters)
    known = {"callee": step.callee, "layer": mistake.layer if mistake else departure.layer}
    if step.callee in diagnosed.candidate.facts.functions:
        known["written_in"] = "tensorir"
    if diagnosed.part.entry_kind == "pass" and len(facts.get("missing", ())) < 2:
        facts = {**facts, "of": "pass"} if kind in _KEPT else facts
    message, advice = tell(departure, kind, {**known, **facts})
    guide = diagnosed.assignment.guide_to(
        diagnosed.part.id, (kind, known["layer"], departure.layer)
    )
    first = alignment.wrong if _is_unseen(traced.steps) else 0
    return Diagnosis(
        steps=_steps(diagnosed, traced, layers, alignment)[first:],
        wrong=alignment.wrong - first,
        layer=name_layer(departure.layer),
        wanted=departure.within or departure.wanted,
        mistake=kind,
        message=message,
        advice=advice,
        link=NOTHING if guide is None else guide.link,
    )


def _steps(
    diagnosed: Diagnosed, traced: Traced, layers: Sequence[Layer], alignment: Alignment
) -> tuple[Step, ...]:
    """Return the steps as a report has them. Of those that were not reached, the declared shape."""
    bindings = traced.bindings or (None,) * len(traced.steps)
    found = zip(traced.steps, bindings, alignment.statuses, alignment.matched, strict=True)
    return tuple(
        Step(
            variable=step.variable,
            callee=step.callee,
            shape=_declared(diagnosed, step, binding) if step.value is None else step.value.shape,
            status=status,
            layer=NOTHING if place is None else name_layer(layers[place].name),
        )
        for step, binding, status, place in found
    )


def _declared(diagnosed: Diagnosed, step: Observed, binding: int | None) -> Shape:
    """Return the shape that `main` gives the result of a call, or a function its buffer; empty
    where it is left open."""
    facts = diagnosed.candidate.facts
    if binding is None and step.callee in facts.functions:
        return shapes_of(facts.functions[step.callee], {}).get(step.variable, ())
    result = None if binding is None else facts.calls[binding].result
    shape = (None if result is None else result.shape) or ()
    extents = tuple(each for each in shape if isinstance(each, int))
    return extents if len(extents) == len(shape) else ()


def _departure(
    diagnosed: Diagnosed, steps: Sequence[Observed], layers: Sequence[Layer], alignment: Alignment
) -> Departure:
    """Return the departing step as far as it may be told."""
    assert alignment.wrong is not None
    step = steps[alignment.wrong]
    expected = None if alignment.expected is None else layers[alignment.expected]
    if _is_scaled_input(alignment):
        return Departure(
            _spelled(step, diagnosed), None if step.value is None else step.value.shape
        )
    departure = Departure(
        step=_spelled(step, diagnosed),
        shape=None if step.value is None else step.value.shape,
        layer="" if expected is None else expected.name,
        wanted=_wanted(step, layers, alignment.expected),
        before=_before(steps, alignment, diagnosed),
        is_beyond=alignment.last_right is not None and alignment.expected == alignment.last_right,
        is_short=_is_short(alignment),
        is_added=is_added(steps, layers, alignment),
    )
    if step.value is None or expected is None:
        return departure
    if expected.value.shape != step.value.shape:
        # An argument that is only laid out has no name, and the step is no part of that.
        does_more = departure.wanted == departure.shape and expected.name
        return departure._replace(within=expected.value.shape if does_more else None)
    difference, right = _compared(step.value, expected.value)
    return departure._replace(difference=difference, right=right, nan=_nan(step.value))


def _is_scaled_input(alignment: Alignment) -> bool:
    """Say whether the step is held against no layer: it is the input, with other numbers."""
    return alignment.mistake is not None and alignment.mistake.facts.get("of") == "input"


def is_added(steps: Sequence[Observed], layers: Sequence[Layer], alignment: Alignment) -> bool:
    """Say whether the step has the shape of the right value that it takes, and PyTorch's next layer
    another: nothing tells that it is meant to be that layer.
    """
    assert alignment.wrong is not None
    step, expected = steps[alignment.wrong], alignment.expected
    if step.value is None or expected is None or alignment.mistake is not None:
        return False
    between = layers[(-1 if alignment.last_right is None else alignment.last_right) + 1 : expected]
    if any(each.name and not each.is_partial for each in between):
        return False
    shapes = {layers[at].value.shape for at in (alignment.last_right,) if at is not None}
    if not step.takes:
        operands = (each for layer in layers for each in layer.operation.operands)
        shapes = {tuple(each.value.shape) for each in operands if each.argument is not None}
    return step.value.shape in shapes and layers[expected].value.shape != step.value.shape


def _is_short(alignment: Alignment) -> bool:
    """Say whether the step is right as far as it goes, and more than a copy of what it takes."""
    assert alignment.wrong is not None
    place, mistake = alignment.matched[alignment.wrong], alignment.mistake
    if place is None or mistake is None or mistake.kind == "outputs_swapped":
        return False
    return place not in alignment.matched[: alignment.wrong]


def _wanted(step: Observed, layers: Sequence[Layer], expected: int | None) -> Shape | None:
    """Return the shape that PyTorch has where a step departs.

    A step may do several layers: if it has the shape of one behind the layer that is wrong, that is
    the shape it should have.
    """
    if expected is None:
        return None
    behind = {each.value.shape for each in layers[expected:] if each.name}
    if step.value is not None and step.value.shape in behind:
        return step.value.shape
    return layers[expected].value.shape


def _spelled(step: Observed, diagnosed: Diagnosed) -> str:
    """Return a step as code: a call of `main`, a buffer of a function, or a Python function."""
    if diagnosed.candidate.is_python:
        return step.callee
    has_main = diagnosed.candidate.facts.has_main
    return f"{step.variable} = {step.callee}" if has_main else step.variable


def _before(steps: Sequence[Observed], alignment: Alignment, diagnosed: Diagnosed) -> str:
    """Return the last step before the departing one that is right, empty where there is none.

    Of a step behind PyTorch's output, it is the one that has its numbers.
    """
    assert alignment.wrong is not None
    last = alignment.last_right if alignment.last_right == alignment.expected else None
    for place in reversed(range(alignment.wrong)):
        if alignment.statuses[place] == "right" and last in (None, alignment.matched[place]):
            return _spelled(steps[place], diagnosed)
    return ""


def _nan(value: npt.NDArray[np.generic]) -> float:
    """Return the share of elements that are NaN or infinite."""
    found = np.asarray(value, np.float64)
    return float((~np.isfinite(found)).mean()) if found.size else 0.0


def _compared(
    value: npt.NDArray[np.generic], wanted: npt.NDArray[np.float64]
) -> tuple[float | None, float]:
    """Return the largest difference over the largest number, and the share of right elements."""
    found = np.asarray(value, np.float64)
    scale = as_known(wanted).scale
    with np.errstate(invalid="ignore"):
        differences = np.abs(found - wanted)
        right = float((differences <= _NEAR * scale).mean()) if differences.size else 0.0
    finite = differences[np.isfinite(differences)]
    if not finite.size or scale == 0:
        return None, right
    return float(finite.max() / scale), right
