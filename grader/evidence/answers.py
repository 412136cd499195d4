"""All answers of an assignment: an oracle for its model and one for each computation."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import ModuleType
from typing import Any, cast

import msgspec
import numpy as np
import numpy.typing as npt

from grader.assignment import ArgumentTable, Computation, PartTable, TensorTable
from grader.course import CourseAssignment
from grader.course_code import blaming, demand_shapes, find_maker
from grader.data import DataSet
from grader.errors import CourseError
from grader.evidence.case import FloatArray, Problem
from grader.evidence.named_cases import Made, make_inputs
from grader.evidence.operations import Layer, Steps, course_steps, declared, one_thread
from grader.evidence.oracle import (
    Arrangement,
    Given,
    ModelOracle,
    Oracle,
    Values,
    Wanted,
    match_inputs,
)
from grader.evidence.recorder import record
from grader.evidence.subject import find_function
from grader.ir.facts import ModuleFacts
from grader.language import Text, foreign, say
from grader.messages.frames import BFLOAT16, DType, number_type
from grader.messages.runner import TensorSpec

# --- computations ---------------------------------------------------------------------------------
# The answers for a computation: a function of tensors, tried on cases drawn for this run.


Compute = Callable[..., Any]
"""The course's function: arrays with a leading axis over cases to one array, or several."""


def _named(argument: ArgumentTable, place: int) -> Text:
    return foreign(argument.name) if argument.name else say("argument", place=place)


class CaseOracle:
    """The answers for one computation. `compute` is the course's function of its arguments.

    `made` are the samples of its named cases that have its shapes, which are its first samples; the
    others are drawn. `others` are the answers for named cases of other shapes.
    """

    def __init__(
        self,
        computation: Computation,
        compute: Compute,
        generator: np.random.Generator,
        made: Made | None = None,
        others: Sequence[CaseOracle] = (),
        steps: Steps | None = None,
    ) -> None:
        self.options = computation
        self._steps = steps
        self.cases = made.cases if made else ()
        self.groups: tuple[CaseOracle, ...] = (self, *others)
        self._compute = compute
        self._arguments = tuple(
            self._given(each, place, generator, made.arrays if made else ())
            for place, each in enumerate(computation.arguments)
        )
        for each in self._arguments:
            each.array.setflags(write=False)
        self._samples = len(self._arguments[0].array)
        self.from_test_set: npt.NDArray[np.bool_] = np.zeros(self._samples, np.bool_)

    def _given(
        self,
        table: ArgumentTable,
        place: int,
        generator: np.random.Generator,
        made: Sequence[Values],
    ) -> Given:
        def draw(fresh: np.random.Generator, shape: tuple[int, ...]) -> Values:
            return _draw(table, self.options, fresh, shape)

        drawn = draw(generator, (self.options.cases, *table.shape))
        array = np.concatenate([made[place], drawn]) if made else drawn
        return Given(_named(table, place + 1), array, redraw=draw)

    @property
    def extents(self) -> Text:
        """Return the extents of the axes that vary, as a report says them."""
        return foreign(", ".join(f"{n} = {e}" for n, e in self.options.extents.items()))

    @cached_property
    def desired(self) -> FloatArray:
        """Return the right outputs, shape (cases, *output shape). Raises CourseError."""
        desired = self._outputs([for_course(each.array) for each in self._arguments])
        desired.setflags(write=False)
        return desired

    def layers(self, rows: Sequence[int]) -> tuple[Layer, ...]:
        """Return what PyTorch does on the first of the cases at these places."""
        return self.layers_for([each.array[rows[0]] for each in self._arguments])

    def layers_for(self, arguments: Sequence[Values]) -> tuple[Layer, ...]:
        """Return what PyTorch does on the arguments of one case, in the function's order.

        Where the function works on all cases at once, layers have no axis for them.
        """
        one = [for_course(each[None]) for each in arguments]
        with one_thread():
            layers = record(lambda: self._compute(*one), one)
            if self._steps is not None and not any(each.name for each in layers):
                layers = declared(self._steps(*one), self.options.id, self._compute(*one), one)
        shapes = [(1, *each.shape) for each in self.options.outputs]
        # Some courses' functions go case by case, others over all at once: only the outputs' shapes
        # tell.
        over_cases = [each for each in layers if each.output is not None]
        if not over_cases or any(
            each.value.shape != shapes[each.output or 0] for each in over_cases
        ):
            return layers
        return tuple(each._replace(value=_without_cases(each.value)) for each in layers)

    @property
    def argument_names(self) -> tuple[Text, ...]:
        """Return what messages call the arguments, in their order."""
        return tuple(each.name for each in self._arguments)

    def unused_arguments(self) -> Iterator[Text]:
        """Yield the names of arguments of which other ones would give the same outputs."""
        for place, name in enumerate(self.argument_names):
            if not self._depends_on(place):
                yield name

    def _depends_on(self, place: int) -> bool:
        """Say whether the outputs are other ones when one argument is that of another case."""
        arrays = [for_course(each.array) for each in self._arguments]
        moved = np.roll(arrays[place], 1, axis=0)
        # Of a single case there is no other one to take the argument from.
        arrays[place] = moved if len(moved) > 1 else _turned(moved)
        return not np.array_equal(self._outputs(arrays), self.desired)

    def shapes(self, _part: PartTable) -> tuple[Wanted, ...]:
        """Return the shapes of the arguments of one case, in the order of the function."""
        return tuple(each.shape for each in self._arguments)

    def arrange(self, part: PartTable, facts: ModuleFacts | None) -> Arrangement | Problem:
        """Return calls on all cases: of a Relax `main`, the TIR function that fits, or Python."""
        outputs = tuple(
            TensorSpec(cast(DType, each.dtype), each.shape) for each in self.options.outputs
        )
        samples = min(part.samples or self._samples, self._samples)
        if facts is None:
            return Arrangement("main", self._arguments, samples, outputs).first(samples)
        if not facts.has_main:
            function = find_function(facts, self.options)
            if function is None:
                return self._no_function(facts)
            return Arrangement(function.name, self._arguments, samples, outputs).first(samples)
        matched = match_inputs(facts.inputs, self._arguments)
        if isinstance(matched, Problem):
            return matched
        several = outputs if len(outputs) > 1 else ()
        return Arrangement("main", matched, samples, several).first(samples)

    def _no_function(self, facts: ModuleFacts) -> Problem:
        """Say what the module's functions take, and what one of them should."""
        hint = self._wanted()
        if not facts.functions:
            return Problem(say("module-has-no-tir-function"), hint, code="signature")
        taken = [
            f"`{each.name}`("
            + ", ".join(f"{p.tensor.dtype}{list(p.tensor.shape or ())}" for p in each.parameters)
            + ")"
            for each in facts.functions.values()
        ]
        reason = say("no-tir-function-module-has-parameters", functions=", ".join(taken[:3]))
        return Problem(reason, hint, code="signature")

    def _wanted(self) -> Text:
        wanted = (*self.options.arguments, *self.options.outputs)
        return say("parameters-must-in-this-order-output-last", parameters=_spelled(wanted))

    def _outputs(self, arrays: Sequence[Values]) -> FloatArray:
        with one_thread():
            result = self._compute(*arrays)
        fields = [np.asarray(each) for each in (result if isinstance(result, tuple) else (result,))]
        cases, tables = self._samples, self.options.outputs
        if [each.shape for each in fields] != [(cases, *each.shape) for each in tables]:
            raise CourseError(
                say(
                    "oracles-function-for-returns-arrays-shapes",
                    id=self.options.id,
                    shapes=str([each.shape for each in fields]),
                ),
                say("should-return-one-for-each-output", cases=cases),
            )
        if tables[0].is_integer:
            fields = [self._as_integers(each) for each in fields]
        if len(fields) == 1:
            return cast(FloatArray, fields[0])
        flat = [each.reshape(cases, math.prod(each.shape[1:])) for each in fields]
        return cast(FloatArray, np.concatenate(flat, axis=1))

    def _as_integers(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return right integers as int64. Raises CourseError for what the dtype cannot hold: no
        submission could give it."""
        output = self.options.outputs[0]
        least, largest = output.widest
        with np.errstate(invalid="ignore"):
            whole = values.astype(np.int64)
        within = whole.min(initial=largest) >= least and whole.max(initial=least) <= largest
        if not np.array_equal(whole, values) or not within:
            raise CourseError(
                say(
                    "oracles-function-for-returns-numbers-that-do",
                    part=self.options.id,
                    dtype=output.dtype,
                ),
                say("round-and-clamp-as-assignment-asks-integers", least=least, largest=largest),
            )
        return whole


def for_course(values: Values) -> Values:
    """Return a copy for the course's functions: of bfloat16 as float32, which has all of its
    numbers, as PyTorch takes no array of bfloat16."""
    return values.astype(np.float32) if str(values.dtype) == BFLOAT16 else values.copy()


def _turned(values: Values) -> Values:
    numbers: npt.NDArray[Any] = values
    return ~numbers if numbers.dtype.kind in "biu" else -numbers


def _without_cases(value: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return value[0] if value.ndim and len(value) == 1 else value


def _draw(
    table: ArgumentTable,
    computation: Computation,
    generator: np.random.Generator,
    shape: tuple[int, ...],
) -> Values:
    if table.is_integer:
        return generator.integers(*table.drawn, shape, endpoint=True).astype(table.dtype)
    drawn = computation.scale * generator.standard_normal(shape)
    drawn = np.abs(drawn) if table.positive else drawn
    return drawn.astype(number_type(table.dtype))


def course_function(
    module: object, computation: Computation, parameters: Mapping[str, Values]
) -> Compute:
    """Return the function of the course's `oracle.py` for a computation. Raises CourseError."""
    name = computation.id.replace("-", "_")
    function = getattr(module, name, None)
    if not callable(function):
        raise CourseError(
            say("oracle-py-has-no-function-called", name=name),
            say("every-computation-without-model-needs-one-see"),
        )
    return lambda *arguments: function(parameters, *arguments)


# --- assignments ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Answers:
    """The oracles of one grading run: `model` is None where an assignment has no `[oracle]`.

    `module` is the course's `oracle.py`.
    `model_seed` draws the PyTorch models that importers are tried on.
    """

    module: ModuleType
    model: ModelOracle | None
    computations: Mapping[str, CaseOracle]
    model_seed: int = 0

    def of(self, part: PartTable) -> Oracle:
        """Return the oracle of a part: that of its computation, or the model's."""
        if part.computation is not None:
            return self.computations[part.computation]
        assert self.model is not None  # an Assignment without [oracle] has no such part
        return self.model

    def workload(self, variant: str, *arrays: FloatArray) -> FloatArray:
        """Return the outputs of the timed function, with a leading axis like the first array."""
        result = self.module.expected_workload(variant, *(for_course(each) for each in arrays))
        return cast(FloatArray, result)


def model_seed(seeds: np.random.SeedSequence) -> int:
    """Return the seed of the models that importers are tried on; the same at every call."""
    return int(seeds.generate_state(1)[0])


def load_answers(
    course_assignment: CourseAssignment, data: DataSet, seeds: np.random.SeedSequence
) -> Answers:
    """Import an assignment's oracle and compute all of its answers (seconds).

    Raises CourseError.
    """
    assignment = course_assignment.assignment
    drawn = model_seed(seeds)
    for_model, *for_computations = seeds.spawn(1 + len(assignment.computation))
    module = course_assignment.load_oracle()
    model = None
    if assignment.oracle is not None:
        model = ModelOracle(module, assignment.oracle, data, np.random.default_rng(for_model))
        _ = model.desired  # computed now, while nothing waits for it
    computations = {}
    for table, sequence in zip(assignment.computation, for_computations, strict=True):
        compute = (
            model_function(course_assignment, table, drawn)
            if table.model
            else course_function(module, table, data.parameters)
        )
        generator = np.random.default_rng(sequence)
        drawn_shapes, *other_shapes = make_inputs(
            module, course_assignment.file("oracle.py"), table, generator
        )
        steps = course_steps(module, table.id, data.parameters)
        others = [_of_cases(table, compute, steps, generator, each) for each in other_shapes]
        oracle = CaseOracle(table, compute, generator, drawn_shapes, others, steps)
        computations[table.id] = oracle
        for each in oracle.groups:
            _ = each.desired
    return Answers(module, model, computations, drawn)


def _of_cases(
    table: Computation,
    compute: Compute,
    steps: Steps | None,
    generator: np.random.Generator,
    made: Made,
) -> CaseOracle:
    """Return the answers for named cases of other shapes than those that are drawn."""
    fixed = msgspec.structs.replace(table.at(made.extents), cases=0, case=())
    return CaseOracle(fixed, compute, generator, made, steps=steps)


def model_function(
    course_assignment: CourseAssignment, computation: Computation, seed: int
) -> Compute:
    """Return what a PyTorch model of the course computes, in double precision."""
    import torch  # takes a second or two, which commands without answers need not wait for

    model = find_model(course_assignment, computation.model)(seed).double().eval()
    path, name = course_assignment.file("models.py"), computation.model
    hint = say("called-with", arguments=_spelled(computation.arguments))

    def compute(*arguments: np.ndarray) -> np.ndarray:
        with torch.inference_mode(), blaming(path, hint, code="model"):
            cases = zip(*(torch.from_numpy(each).double() for each in arguments), strict=True)
            result = np.stack([model(*case).numpy() for case in cases])
        extents = computation.extents_of([each.shape[1:] for each in arguments]) or {}
        shapes = [(len(result), *each.shape) for each in computation.at(extents).outputs]
        demand_shapes([result], shapes, path, None, name)
        return result

    return compute


def _spelled(tables: Iterable[TensorTable]) -> str:
    return ", ".join(f"{each.dtype}{each.spelled}" for each in tables)


def find_model(course_assignment: CourseAssignment, name: str) -> Callable[[int], Any]:
    """Return the function of `models.py` that makes a model from a seed. Raises MistakeError."""
    return find_maker(course_assignment.load_models(), course_assignment.file("models.py"), name)
