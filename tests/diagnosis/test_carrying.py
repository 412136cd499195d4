"""Layers are judged one by one: what is wrong before them costs them nothing, nothing is given."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import reduce
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from msgspec.structs import replace
from torch.nn import functional
from tvm import relax, topi

from grader.assignment import OracleOptions
from grader.data.dataset import no_data
from grader.diagnosis import carrying
from grader.diagnosis.carrying import CORRECTIONS, GUESSES, SECONDS, judge_layers
from grader.diagnosis.report import Diagnosed
from grader.diagnosis.walk import chain
from grader.errors import DisplacedError
from grader.evidence.case import Candidate, JudgedLayer, Outputs
from grader.evidence.oracle import ModelOracle
from grader.evidence.recorder import record
from grader.language import foreign
from grader.messages.frames import unpack_array
from grader.messages.runner import FromRunner, TaskFailure, ToRunner, TraceModule, TraceResult
from tests.diagnosis.test_tracing import PART, Runners, candidate
from tests.inside.runner import modules
from tests.ir.modules import save
from tests.seeded import seeded

# A runner has one thread. A process of tests may have others, of which Python 3.12 warns.
pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")

GENERATOR = seeded(3)
FIRST, SECOND, THIRD = (
    GENERATOR.standard_normal(shape, dtype=np.float32) for shape in ((6, 8), (6, 6), (3, 6))
)
BIAS = GENERATOR.standard_normal(6, dtype=np.float32)
NAMES = ("linear", "relu", "linear", "relu", "linear", "softmax")


def expected(_parameters: object, images: Any) -> Any:
    with torch.inference_mode():
        x = functional.linear(_double(images), _double(FIRST), _double(BIAS)).relu()
        x = functional.linear(x.flatten(1), _double(SECOND)).relu()
        return functional.linear(x, _double(THIRD)).softmax(1).numpy()


def _double(array: Any) -> torch.Tensor:
    return torch.tensor(array, dtype=torch.float64)


Emit = Callable[[Any, Any], Any]

RIGHT: dict[str, Emit] = {
    "linear": lambda b, x: b.emit_te(topi.nn.dense, x, relax.const(FIRST)),
    "bias": lambda b, x: b.emit_te(topi.add, x, relax.const(BIAS)),
    "relu": lambda b, x: b.emit_te(topi.nn.relu, x),
    "flatten": lambda b, x: b.emit_te(topi.nn.flatten, x),
    "square": lambda b, x: b.emit_te(topi.nn.dense, x, relax.const(SECOND)),
    "relu1": lambda b, x: b.emit_te(topi.nn.relu, x),
    "out": lambda b, x: b.emit_te(topi.nn.dense, x, relax.const(THIRD)),
    "softmax": lambda b, x: b.emit_te(topi.nn.softmax, x, 1),
}


def copied(builder: Any, x: Any) -> Any:
    return builder.emit_te(topi.identity, x)


def doubled_weight(builder: Any, x: Any) -> Any:
    return builder.emit_te(topi.nn.dense, x, relax.const(2 * FIRST))


def doubled_weight_and_relu(builder: Any, x: Any) -> Any:
    def both(data: Any, weight: Any) -> Any:
        return topi.nn.relu(topi.nn.dense(data, weight))

    return builder.emit_te(both, x, relax.const(2 * FIRST))


def third(builder: Any, x: Any) -> Any:
    return builder.emit_te(topi.nn.dense, x, relax.const(THIRD[::-1].copy()))


def looks_at_input(builder: Any, x: Any) -> Any:
    """Return six numbers of the eight that there are."""
    return builder.emit_te(lambda data: topi.strided_slice(data, [0, 0], [4, 6]), x)


def added(*tensors: Any) -> Any:
    return reduce(topi.add, tensors)


def reversed_columns(builder: Any, x: Any) -> Any:
    return builder.emit_te(topi.flip, x, 1)


def doubled(builder: Any, x: Any) -> Any:
    return builder.emit_te(topi.add, x, x)


def made(**changed: Emit | None) -> Candidate:
    """The classifier, with some layers done otherwise, or left out; `end` comes after all."""
    layers = {**RIGHT, **changed}

    def build(builder: Any, x: Any) -> Any:
        for emit in layers.values():
            x = x if emit is None else emit(builder, x)
        return x

    return candidate(save(modules.one_argument(build, (4, 8))))


def judged(given: Candidate, runners: Any = None, clock: Callable[[], float] = lambda: 0.0) -> str:
    """Return the layers, with a minus where one is lost."""
    found = judged_layers(given, runners, clock)
    return " ".join(each.name if each.is_right else f"-{each.name}" for each in found)


def judged_layers(
    given: Candidate, runners: Any = None, clock: Callable[[], float] = lambda: 0.0
) -> tuple[JudgedLayer, ...]:
    options = OracleOptions(input_shape=(8,), output_shape=(3,), hidden_inputs=9)
    module: Any = SimpleNamespace(expected=expected)
    oracle = ModelOracle(module, options, no_data(), np.random.default_rng(0))
    wrong = Outputs(np.zeros((7, 3), np.float32), oracle.desired[:7], oracle.from_test_set[:7])
    assignment: Any = None  # it is not asked for anything
    diagnosed = Diagnosed(given, PART, assignment, oracle)
    found = judge_layers(diagnosed, wrong, runners or Runners(), np.random.default_rng(1), clock)
    assert not found or NAMES == tuple(each.name for each in found)
    return found


def constant(*shape: int) -> Emit:
    """Return a layer that gives the same numbers whatever it is given."""
    values = GENERATOR.standard_normal(shape, dtype=np.float32)
    return lambda b, x: b.emit_te(topi.add, relax.const(values), relax.const(np.float32(0)))


ALL_RIGHT = "linear relu linear relu linear softmax"
NONE_RIGHT = "-linear -relu -linear -relu -linear -softmax"


class TestMistakes:
    """What a layer costs that is wrong, missing, or too much."""

    @pytest.mark.parametrize(
        ("changed", "layers"),
        [
            ({"linear": doubled_weight}, "-linear relu linear relu linear softmax"),
            ({"bias": doubled}, "-linear relu linear relu linear softmax"),
            ({"bias": None}, "-linear relu linear relu linear softmax"),
            ({"relu": None}, "linear -relu linear relu linear softmax"),
            ({"relu1": doubled}, "linear relu linear -relu linear softmax"),
            ({"softmax": None}, "linear relu linear relu linear -softmax"),
            ({"end": doubled}, ALL_RIGHT),
            (
                {"bias": doubled, "relu1": doubled, "softmax": copied},
                "-linear relu linear -relu linear -softmax",
            ),
        ],
    )
    def test_it_costs_itself(self, changed: dict[str, Emit | None], layers: str) -> None:
        assert layers == judged(made(**changed))

    def test_another_order_costs_the_layer_that_takes_it(self) -> None:
        given = made(flatten=reversed_columns)
        found = judged_layers(given)
        assert [True, True, False, True, True, True] == [each.is_right for each in found]
        # That layer gives the right result: what is wrong stands before it.
        assert ["", "", "flatten", "", "", ""] == [each.before for each in found]

    def test_of_a_layer_that_is_wrong_itself_none_before_it_is_named(self) -> None:
        found = judged_layers(made(square=doubled))
        assert "" == "".join(each.before for each in found)

    def test_a_wrong_layer_that_flattens_too_costs_itself_alone(self) -> None:
        given = made(relu=doubled, flatten=None)
        assert "linear -relu linear relu linear softmax" == judged(given)

    def test_a_step_too_many_costs_the_layer_before_it_and_not_the_one_behind(self) -> None:
        """A bias behind a ReLU, say: the pooling after it is right on what it should be given."""
        given = made(relu1=lambda b, x: doubled(b, RIGHT["relu1"](b, x)))
        assert "linear relu linear -relu linear softmax" == judged(given)

    @pytest.mark.parametrize(
        ("unused", "layers"),
        [
            ("relu", "linear -relu linear relu linear softmax"),
            ("softmax", "linear relu linear relu linear -softmax"),
        ],
    )
    def test_a_layer_whose_result_is_not_used_is_lost(self, unused: str, layers: str) -> None:
        def passed_by(builder: Any, x: Any) -> Any:
            RIGHT[unused](builder, x)
            return x

        assert layers == judged(made(**{unused: passed_by}))

    def test_a_result_that_its_function_gives_as_a_second_output_is_used(self) -> None:
        def both(builder: Any, x: Any) -> Any:
            pair = builder.emit_te(lambda data: [topi.identity(data), topi.nn.softmax(data, 1)], x)
            return builder.emit(relax.TupleGetItem(pair, 1))

        found = judged(made(relu=doubled, softmax=both))
        assert "linear -relu linear relu linear softmax" == found

    def test_layers_in_one_function_are_lost_together(self) -> None:
        given = made(linear=doubled_weight_and_relu, bias=None, relu=None)
        assert "-linear -relu linear relu linear softmax" == judged(given)

    def test_a_right_module_is_not_judged(self) -> None:
        assert "" == judged(made())

    def test_of_many_mistakes_only_so_many_are_followed(self) -> None:
        given = made(linear=doubled_weight, relu=doubled, square=doubled, relu1=doubled, out=third)
        assert judged(given).startswith("-linear -relu -linear -relu -linear")


class TestGaming:
    """Nothing is earned but by numbers that a step computed."""

    def test_constants_earn_nothing(self) -> None:
        shapes = {"linear": (4, 6), "bias": (4, 6), "relu": (4, 6), "square": (4, 6)}
        layers = {name: constant(*shape) for name, shape in shapes.items()}
        given = made(**layers, relu1=constant(4, 6), out=constant(4, 3), softmax=constant(4, 3))
        assert NONE_RIGHT == judged(given)

    def test_nor_what_only_looks_at_the_input(self) -> None:
        given = made(
            linear=looks_at_input, relu=copied, square=copied, relu1=copied, softmax=copied
        )
        assert "-linear -relu -linear -relu linear -softmax" == judged(given)

    @pytest.mark.parametrize("count", [1, 80])
    def test_nor_copies_of_what_was_put_in_place_of_a_wrong_value(self, count: int) -> None:
        def copies(builder: Any, x: Any) -> Any:
            for _ in range(count):
                x = copied(builder, x)
            return x

        given = made(
            **dict.fromkeys(("bias", "relu", "flatten", "relu1", "out", "softmax"), None),
            linear=doubled_weight,
            square=copies,
        )
        assert NONE_RIGHT == judged(given)

    def test_nor_tiny_steps(self) -> None:
        def halves(builder: Any, x: Any) -> Any:
            for _ in range(40):
                x = builder.emit_te(
                    topi.multiply, doubled(builder, x), relax.const(np.float32(0.5))
                )
            return x

        given = made(relu=halves, relu1=halves)  # more steps than are looked at
        assert NONE_RIGHT[1:] == judged(given)

    def test_a_value_under_another_name_earns_nothing(self) -> None:
        """What is written over a view is written over what it is a view of."""

        def aliased(builder: Any, x: Any) -> Any:
            noise = builder.emit_te(topi.nn.dense, x, relax.const(FIRST[::-1].copy()))
            flat = builder.emit(relax.op.reshape(noise, (24,)))
            builder.emit(relax.op.reshape(flat, (4, 6)))
            return noise

        assert judged(made(linear=aliased, bias=None)).startswith("-linear")

    def test_only_inputs_that_nothing_is_compared_on_are_run(self) -> None:
        runners = Tasks()
        judged(made(relu=doubled), runners)
        options = OracleOptions(input_shape=(8,), output_shape=(3,), hidden_inputs=9)
        oracle = ModelOracle(None, options, no_data(), np.random.default_rng(0))  # type: ignore[arg-type]
        assert runners.inputs
        for inputs in runners.inputs:
            assert not set(map(bytes, inputs)) & set(map(bytes, oracle.inputs))


class Tasks(Runners):
    """Runners that keep what they were given."""

    @property
    def inputs(self) -> list[Any]:
        """Return the batch of each call."""
        tasks = [each for _, each in self.tasks]
        assert all(isinstance(each, TraceModule) for each in tasks)
        arrays = [unpack_array(each.run.arguments[0].array) for each in tasks]  # type: ignore[union-attr]
        return [batch for array in arrays for batch in array]


class Changed(Tasks):
    """Runners whose answers to tasks of several passes are others."""

    def __init__(self, change: Callable[[TraceResult], FromRunner]) -> None:
        super().__init__()
        self._change = change

    def request(self, kind: str, task: ToRunner, *_: float) -> FromRunner:
        answer = super().request(kind, task)
        assert isinstance(task, TraceModule)
        assert isinstance(answer, TraceResult)
        return self._change(answer) if len(task.passes) > 1 else answer


def renamed(answer: TraceResult) -> TraceResult:
    """Say other things of the steps than in the run before."""
    passes = [
        replace(each, steps=(*each.steps, replace(each.steps[0], dtype="int8")))
        for each in answer.passes
    ]
    return TraceResult(tuple(passes))


class TestBuilds:
    """To build a module takes nearly all of a call's time."""

    def passes(self, runners: Tasks) -> list[int]:
        return [len(task.passes) for _, task in runners.tasks]  # type: ignore[union-attr]

    def test_a_mistake_takes_one_however_many_layers_it_might_be(self) -> None:
        runners = Tasks()
        layers = judged(made(relu=doubled, square=doubled), runners)
        assert "linear -relu -linear relu linear softmax" == layers
        assert [1, 8, 6] == self.passes(runners)

    def test_no_more_than_fit_into_a_message(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(carrying, "RUNNER_FRAME_LIMIT", 5000)
        runners = Tasks()
        layers = judged(made(relu=doubled, square=doubled), runners)
        assert "linear -relu -linear relu linear softmax" == layers
        assert [1, 3, 3, 2, 3, 3] == self.passes(runners)

    def test_what_ends_a_task_of_several_costs_none_of_them(self) -> None:
        runners = Changed(lambda _: TaskFailure("run", "TimeLimit", ""))
        layers = judged(made(relu=doubled, square=doubled), runners)
        assert "linear -relu -linear relu linear softmax" == layers
        assert [1, 8, *[1] * 14] == self.passes(runners)

    def test_of_many_guesses_some_are_tried(self) -> None:
        def adds_constants(builder: Any, x: Any) -> Any:
            values = [constant(4, 6)(builder, x) for _ in range(20)]
            return builder.emit_te(added, x, *values)

        runners = Tasks()
        judged(made(relu=adds_constants), runners)
        passes = self.passes(runners)
        assert [1, *[8] * (GUESSES // 8)] == passes[: 1 + GUESSES // 8]
        assert sum(passes) <= 1 + CORRECTIONS * GUESSES
        assert passes[1 + GUESSES // 8 :][:1] != [8]


class Slow(Tasks):
    """Runners that take 10 seconds for a first run and `seconds` for others, by their own clock."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self._each = seconds
        self.now = 0.0
        self.limits: list[float] = []

    def request(self, kind: str, task: ToRunner, *limits: float) -> FromRunner:
        self.limits += limits
        needed = self._each if self.tasks else 10.0
        self.now += min(needed, *limits)
        answer = super().request(kind, task)
        return answer if needed <= min(limits) else TaskFailure("run", "TimeLimit", "")


class TestTime:
    """A module may be quick on its own values and slow on those that are written over them."""

    def test_guesses_take_two_minutes_together(self) -> None:
        slow = Slow(30)
        layers = judged(made(relu=doubled, square=doubled), slow, lambda: slow.now)
        assert 10 + SECONDS == slow.now
        assert layers.startswith("linear -relu")

    def test_what_was_earned_before_the_mistake_stays_where_no_guess_can_be_run(self) -> None:
        slow = Slow(SECONDS)
        layers = judged(made(square=doubled), slow, lambda: slow.now)
        assert "linear relu -linear -relu -linear -softmax" == layers

    def test_a_task_of_guesses_takes_four_times_as_long_as_the_first_run(self) -> None:
        slow = Slow(1)
        judged(made(relu=doubled, square=doubled), slow, lambda: slow.now)
        first, *others = slow.limits
        assert (math.inf, {40.0}) == (first, set(others))

    def test_as_many_run_together_as_there_is_time_for_twice(self) -> None:
        slow = Slow(10)
        judged(made(relu=doubled, square=doubled), slow, lambda: slow.now)
        sizes = [len(task.passes) for _, task in slow.tasks]  # type: ignore[union-attr]
        assert [1, 6] == sizes[:2]


class TestDistrust:
    """A runner has run the submission's code."""

    def test_other_steps_than_before_are_no_answer(self) -> None:
        """What the first run has earned stays."""
        layers = judged(made(relu=doubled), Changed(renamed))
        assert "linear -relu -linear -relu -linear -softmax" == layers

    def test_what_cannot_be_judged_costs_no_other_points(self) -> None:
        class Broken(Runners):
            def request(self, kind: str, task: ToRunner, *_: float) -> FromRunner:
                raise ZeroDivisionError

        with pytest.warns(RuntimeWarning, match="Layers could not be judged"):
            assert "" == judged(made(relu=doubled), Broken())

    def test_without_a_runner_nothing_is_judged(self) -> None:
        class NoRunners(Runners):
            def request(self, kind: str, task: ToRunner, *_: float) -> FromRunner:
                raise DisplacedError(foreign("no memory"))

        with pytest.raises(DisplacedError):
            judged(made(relu=doubled), NoRunners())


class TestChain:
    def test_layers_that_take_two_values_are_none(self) -> None:
        x = GENERATOR.standard_normal((2, 3))

        def residual() -> torch.Tensor:
            given = torch.tensor(x)
            return torch.relu(given) + given

        assert () == chain(record(residual, [x]))

    def test_weights_that_are_arguments_are_none_of_its_layers(self) -> None:
        """A course's function goes case by case, and takes each out of the array of all."""
        x, weight, other = (GENERATOR.standard_normal((1, 3, 3)) for _ in range(3))

        def by_cases() -> torch.Tensor:
            cases = zip(*(torch.tensor(each) for each in (x, weight, other)), strict=True)
            return torch.stack([torch.relu(a @ b) @ c for a, b, c in cases])

        layers = record(by_cases, [x, weight, other])
        assert 3 == len(chain(layers))
        assert all(layers[place].name for place in chain(layers))
