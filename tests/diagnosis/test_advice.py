"""Every advice on every oracle of the repository: who follows it gets PyTorch's outputs.

A student is PyTorch with one thing changed, in one layer or in all of a kind. Whatever mistake is
told, it is PyTorch with the change of that mistake which gives the student's outputs: without it,
they are PyTorch's, or differ only by the same change in a later layer, which is told next.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from grader.course import CourseAssignment, load_course
from grader.diagnosis import mistakes
from grader.diagnosis.align import Observed, align
from grader.diagnosis.layers import Change, Program, is_equal, known
from grader.diagnosis.mistakes import LikelyMistake
from grader.diagnosis.moved import moves
from grader.evidence.answers import CaseOracle, course_function, model_function
from grader.evidence.operations import Layer, one_thread
from grader.evidence.recorder import record

ROOT = Path(__file__).resolve().parents[2]
COURSES = (ROOT, *sorted((ROOT / "tests" / "courses").iterdir()))
IMAGES = 2
SEED = 5
MOST = 24
"""Changes of one oracle that are tried, spread over all of them, beside those of several layers:
who left out every bias was told to exchange the first one and the ReLU."""

FEW = 8
"""Moves of a layer that are tried beside them."""

Values = dict[int, np.ndarray[Any, Any]]

AT_SIGHT = frozenset(
    {"zeros", "input_returned", "scaled", "partly_right", "low_precision", "outputs_swapped"}
)
"""What is seen in the numbers themselves and recommends no one change: where to look."""


def parameters_of(chosen: CourseAssignment) -> Mapping[str, Any]:
    """Return the parameters that an oracle declares; one in NumPy has none, and no layers."""
    return getattr(chosen.load_oracle(), "PARAMETERS", {})


def oracles() -> Iterator[Any]:
    for root in COURSES:
        for chosen in load_course(root).assignments.values():
            name = f"{root.name if root != ROOT else 'course'}-{chosen.assignment.slug}"
            if chosen.assignment.oracle is not None and parameters_of(chosen):
                yield pytest.param(chosen, None, id=f"{name}-model")
            for table in chosen.assignment.computation:
                yield pytest.param(chosen, table.id, id=f"{name}-{table.id}")


def recorded(chosen: CourseAssignment, computation: str | None) -> tuple[Layer, ...]:
    """Return what an oracle does on a few inputs."""
    module, generator = chosen.load_oracle(), np.random.default_rng(SEED)
    parameters = {
        name: (generator.standard_normal(shape) / math.sqrt(shape[-1])).astype(np.float32)
        for name, (_, shape) in parameters_of(chosen).items()
    }
    if computation is None:
        assert chosen.assignment.oracle is not None
        shape = (IMAGES, *chosen.assignment.oracle.input_shape)
        images = generator.standard_normal(shape).astype(np.float32)
        return record(lambda: module.expected(parameters, images), [images])
    (table,) = [each for each in chosen.assignment.computation if each.id == computation]
    compute = (
        model_function(chosen, table, SEED)
        if table.model
        else course_function(module, table, parameters)
    )
    few = msgspec.structs.replace(table, cases=2)
    return tuple(CaseOracle(few, compute, generator).layers([0]))


def values_of(one: Change | None, program: Program) -> Values:
    """Return the values of all layers with a change; those behind one that fails are missing."""
    tensors: dict[int, Any] = {}
    found: Values = {}
    for place, layer in enumerate(program.layers):
        if any(each not in found for each in program.takes[place]):
            continue
        compute = None if one is None else one.computes.get(place)
        if compute is None and not any(each in tensors for each in program.takes[place]):
            found[place] = layer.value
            continue
        value = program._value(place, compute, tensors)
        if value is not None:
            tensors[place] = value
            array = value.detach().numpy()
            is_same_shape = array.size == layer.value.size and array.ndim >= layer.value.ndim
            found[place] = array.reshape(layer.value.shape) if is_same_shape else array
    return found


def steps_of(values: Values, program: Program) -> tuple[list[Observed], list[int]]:
    """Return one step for each layer that has a name, and the layers' places."""
    shown = [
        place
        for place, layer in enumerate(program.layers)
        if layer.name and not layer.is_partial and not program.is_side(place)
    ]
    steps = []
    for place in shown:
        before, takes_input = set[int](), False
        waiting = [place]
        while waiting:
            at = waiting.pop()
            takes_input |= any(
                each.argument is not None for each in program.layers[at].operation.operands
            )
            for each in program.takes[at]:
                (before.add if each in shown else waiting.append)(each)
        takes = tuple(sorted(shown.index(each) for each in before))
        value = values.get(place)
        with np.errstate(over="ignore"):  # what overflows is infinite, as it would be there
            given = None if value is None else value.astype(np.float32)
        steps.append(Observed(f"lv{place}", program.layers[place].name, given, takes, takes_input))
    return steps, shown


def changes(program: Program) -> list[Change]:
    places = [each for each in range(len(program.layers)) if not program.is_side(each)]
    named = [each for each in places if program.layers[each].name]
    found = [*mistakes._changes(program, places), *mistakes._additions(program, named)]
    return [*found, *moves(program)]


def is_told(one: Change, found: LikelyMistake, program: Program) -> bool:
    """Say whether a change is what a mistake says; of what is missing or repeated they say more."""
    told = mistakes._mistake(one, program)
    if not {"missing", "repeats"}.isdisjoint(found.facts):
        return (told.kind, told.place) == (found.kind, found.place)
    return told == found


def is_weak(found: LikelyMistake) -> bool:
    """Say whether it is told what to compare, and no change."""
    return str(found.facts.get("operand", "")).endswith("_swallowed")


def is_same(found: np.ndarray[Any, Any], wanted: np.ndarray[Any, Any]) -> bool:
    return is_equal(found.reshape(-1).astype(np.float64), known(wanted.astype(np.float64)), 1e-4)


@cache
def _last(program: Program) -> int:
    return max(at for at, each in enumerate(program.layers) if each.output is not None)


@pytest.mark.parametrize(("chosen", "computation"), list(oracles()))
def test_who_does_what_is_told_gets_pytorchs_outputs(
    chosen: CourseAssignment, computation: str | None
) -> None:
    with one_thread():
        program = Program(recorded(chosen, computation))
        every = changes(program)
        tried = every[:: max(1, len(every) // MOST)]
        elsewhere = list(moves(program))
        several = every[: len(every) - len(elsewhere)]
        tried += [one for one in several if len(one.computes) > 1 and one not in tried]
        tried += elsewhere[:: max(1, len(elsewhere) // FEW)]
        wrong = [text for one in tried for text in misled(one, program)]
    assert [] == wrong


def misled(one: Change, program: Program) -> Iterator[str]:
    """Return what is told of a change and does not mend it."""
    values = values_of(one, program)
    steps, _ = steps_of(values, program)
    found = align(steps, program.layers).mistake
    if found is None or found.kind in AT_SIGHT or is_weak(found) or is_told(one, found, program):
        return
    last = _last(program)
    if last not in values or is_same(values[last], program.layers[last].value):
        return
    alike = [each for each in changes(program) if is_told(each, found, program)]
    tried = [*alike, *(with_later(each, one) for each in alike)]
    outputs = [values_of(each, program).get(last) for each in tried]
    if not any(each is not None and is_same(each, values[last]) for each in outputs):
        yield f"{one.kind} at {sorted(one.computes)} {dict(one.facts)}: told {found}"


def with_later(told: Change, made: Change) -> Change:
    """Return what is told together with what was changed in later layers: that is told next."""
    later = {at: each for at, each in made.computes.items() if at > max(told.computes)}
    return told._replace(computes={**told.computes, **later})
