"""One call of a candidate, step by step: what a runner says of it, and what is believed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pytest
import tvm
from tvm import relax, te, topi

from grader.assignment import ArgumentTable, Computation, OracleOptions, PartTable, TensorTable
from grader.data.dataset import no_data
from grader.diagnosis.tracing import Runnable, Traced, gather_trace, most_passes, trace_passes
from grader.errors import ProtocolError
from grader.evidence.answers import CaseOracle
from grader.evidence.candidates import inspect
from grader.evidence.case import Candidate, Problem
from grader.evidence.oracle import Arrangement, ModelOracle
from grader.inside.runner.entry import perform
from grader.ir.read import read_module
from grader.language import NOTHING, foreign
from grader.messages.frames import Array, pack_array, unpack_array
from grader.messages.kernel import PYTHON_FUNCTION, Capture
from grader.messages.runner import (
    FromRunner,
    TaskFailure,
    ToRunner,
    TracedPass,
    TracedStep,
    TraceModule,
    TraceResult,
)
from tests.inside.runner import modules
from tests.ir.modules import save

# A runner has one thread. A process of tests may have others, of which Python 3.12 warns.
pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")

PART = PartTable(id="model", title="", entry_kind="module", entry=("f",), check=(), samples=7)
OPTIONS = OracleOptions(input_shape=(2,), output_shape=(2,), hidden_inputs=9)


def twice_and_more(batch: int) -> Candidate:
    """A model: two times what it is given, and one more."""

    def build(builder: Any, x: Any) -> Any:
        twice = builder.emit_te(topi.add, x, x)
        return builder.emit_te(topi.add, twice, relax.const(np.float32(1)))

    return candidate(save(modules.one_argument(build, (batch, 2))))


def candidate(module: bytes) -> Candidate:
    return Candidate(Capture("model", "f", 3, True, module), read_module(module))


def model_oracle() -> ModelOracle:
    return ModelOracle(None, OPTIONS, no_data(), np.random.default_rng(0))  # type: ignore[arg-type]


class Runners:
    """Answers each task as a runner does, or as `change` makes of that."""

    def __init__(self, change: Callable[[FromRunner], FromRunner] = lambda answer: answer) -> None:
        self.change = change
        self.tasks: list[tuple[str, ToRunner]] = []

    def request(self, kind: str, task: ToRunner, *_: float) -> FromRunner:
        self.tasks.append((kind, task))
        return self.change(perform(task))


def gather(
    found: Candidate, oracle: Any, rows: list[int], runners: Any = None, part: PartTable = PART
) -> Traced | Problem:
    return gather_trace(found, part, oracle, runners or Runners(), rows)


def traced(*arguments: Any, **options: Any) -> Traced:
    result = gather(*arguments, **options)
    assert isinstance(result, Traced), result
    return result


class TestModel:
    def test_a_batch_holds_the_chosen_samples_and_others(self) -> None:
        oracle = model_oracle()
        result = traced(twice_and_more(4), oracle, [5, 2])
        assert (5, 2, 0, 1) == result.rows
        (images,) = result.arguments
        np.testing.assert_array_equal(oracle.inputs[[5, 2, 0, 1]], images)
        np.testing.assert_array_equal(2 * images, result.steps[0].value)
        np.testing.assert_array_equal(2 * images + 1, result.steps[1].value)

    def test_steps_are_told_as_the_module_has_them(self) -> None:
        result = traced(twice_and_more(1), model_oracle(), [3])
        told = [(step.variable, step.callee, step.takes, step.takes_input) for step in result.steps]
        assert [("lv", "add", (), True), ("lv1", "add1", (0,), False)] == told
        assert (0, 1) == result.bindings
        assert result.failure is None
        assert {"float32"} == {step.dtype for step in result.steps}

    def test_one_call_is_made_in_a_runner_without_an_evaluator(self) -> None:
        runners = Runners()
        traced(twice_and_more(1), model_oracle(), [3, 4], runners)
        ((kind, task),) = runners.tasks
        assert "pure" == kind
        assert isinstance(task, TraceModule)
        assert (1, 1, 2) == unpack_array(task.run.arguments[0].array).shape

    def test_a_step_without_axes_has_a_value(self) -> None:
        def build(builder: Any, x: Any) -> Any:
            return builder.emit(relax.op.add(x, builder.emit(relax.op.sum(x))))

        found = candidate(save(modules.one_argument(build, (1, 2))))
        total, output = (each.value for each in traced(found, model_oracle(), [3]).steps)
        assert total is not None
        assert () == total.shape
        assert output is not None

    def test_a_module_that_cannot_be_called_is_a_problem(self) -> None:
        other = candidate(save(modules.one_argument(lambda b, x: b.emit(relax.op.exp(x)), (5,))))
        assert isinstance(gather(other, model_oracle(), [0]), Problem)

    def test_a_failure_is_the_problem_that_a_run_has(self) -> None:
        runners = Runners(lambda _: TaskFailure("build", "Raised", "no", error="ValueError"))
        problem = gather(twice_and_more(1), model_oracle(), [0], runners)
        assert isinstance(problem, Problem)
        assert "ValueError: no" in problem.reason.english

    def test_what_ended_a_run_early_is_told_beside_the_steps(self) -> None:
        def fail(answer: FromRunner) -> FromRunner:
            assert isinstance(answer, TraceResult)
            (first, second) = answer.passes[0].steps
            steps = (first, msgspec.structs.replace(second, values=None))
            failure = TaskFailure("run", "Raised", "no", error="ValueError")
            return TraceResult((TracedPass(steps, failure),))

        result = traced(twice_and_more(1), model_oracle(), [0], Runners(fail))
        assert [False, True] == [step.value is None for step in result.steps]
        assert result.failure is not None
        assert "ValueError: no" in result.failure.reason.english


class TestDistrust:
    """A runner has run native code of a submission: what it says may be anything."""

    STEP = TracedStep("lv", "float32", pack_array(np.zeros((1, 2), "float32")), binding=0)

    def said(self, **changes: Any) -> Traced | Problem:
        step = msgspec.structs.replace(self.STEP, **changes)
        runners = Runners(lambda _: TraceResult((TracedPass((step,)),)))
        return gather(twice_and_more(1), model_oracle(), [0], runners)

    def test_what_is_known_of_a_call_is_not_taken_from_a_runner(self) -> None:
        result = self.said()
        assert isinstance(result, Traced)
        assert "add" == result.steps[0].callee

    @pytest.mark.parametrize(
        "changes",
        [
            {"values": Array("float32", (1, 3), b"")},
            {"values": Array("float32", (), bytes(4))},
            {"values": Array("float32", (2, 1), bytes(8))},
            {"values": Array("float32", (0, 2), b"")},
            {"variable": "<script>alert('1')</script>"},
            {"variable": "a\nb"},
            {"variable": "x" * 1000},
            {"dtype": "float32; rm"},
            {"takes": (0,)},
            {"takes": (-1,)},
            {"binding": 2},
        ],
    )
    def test_what_cannot_be_is_an_answer_that_cannot_be_read(self, changes: dict[str, Any]) -> None:
        result = self.said(**changes)
        assert isinstance(result, Problem)
        assert "sent an unreadable answer" in result.reason.english

    def test_what_was_never_written_is_an_ordinary_nan(self) -> None:
        poison = np.full((1, 2), 0x7FA5A5A5, np.uint32).view(np.float32)
        result = self.said(values=pack_array(poison))
        assert isinstance(result, Traced)
        assert np.isnan(np.asarray(result.steps[0].value, np.float64)).all()

    def test_an_answer_that_is_no_message_is_a_problem(self) -> None:
        class Broken:
            def request(self, kind: str, task: ToRunner, *_: float) -> FromRunner:
                raise ProtocolError(foreign("no message"), NOTHING)

        result = gather(twice_and_more(1), model_oracle(), [0], Broken())
        assert isinstance(result, Problem)
        assert "sent an unreadable answer" in result.reason.english


def case_oracle(*arguments: ArgumentTable) -> CaseOracle:
    table = Computation("f", arguments, (TensorTable((3, 3), "float32"),), cases=4)
    return CaseOracle(table, lambda *arrays: arrays[0], np.random.default_rng(2))


A, B = ArgumentTable((3, 3), "float32", name="A"), ArgumentTable((3,), "float32", name="B")


class TestComputation:
    def test_the_buffers_of_a_function_are_steps(self) -> None:
        a, b = te.placeholder((3, 3), name="A"), te.placeholder((3,), name="B")
        c = te.compute((3, 3), lambda i, j: a[i, j] + b[j], name="C")
        d = te.compute((3, 3), lambda i, j: c[i, j] * 2.0, name="D")
        function = te.create_prim_func([a, b, d]).with_attr("global_symbol", "f")
        oracle = case_oracle(A, B)
        result = traced(candidate(save(tvm.IRModule({"f": function}))), oracle, [2, 3])
        assert [("C", "f"), ("D", "f")] == [(step.variable, step.callee) for step in result.steps]
        left, right = result.arguments
        assert ((3, 3), (3,)) == (left.shape, right.shape)
        np.testing.assert_array_equal(left + right, result.steps[0].value)
        assert (2,) == result.rows
        assert (None, None) == result.bindings
        assert ((1, "A"), (2, "B")) == result.parameters

    def test_arguments_are_in_the_order_of_the_computation(self) -> None:
        """Where shapes tell them apart, `main` may take them in another one."""
        builder = relax.BlockBuilder()
        b, a = (
            relax.Var(name, relax.TensorType(shape, "float32"))
            for name, shape in (("b", (3,)), ("a", (3, 3)))
        )
        with builder.function("main", [b, a]):
            with builder.dataflow():
                output = builder.emit_output(builder.emit(relax.op.add(a, b)))
            builder.emit_func_output(output)
        result = traced(candidate(save(builder.get())), case_oracle(A, B), [1])
        left, right = result.arguments
        np.testing.assert_array_equal(left + right, result.steps[0].value)
        # A student counts from the left of what they wrote.
        assert ((2, "a"), (1, "b")) == result.parameters


def test_a_python_function_goes_by_its_name() -> None:
    part = PartTable(
        id="model", title="", entry_kind="python", entry=("f",), check=(), computation="f"
    )
    capture = Capture("model", "my_add", 3, True, b"", externs={PYTHON_FUNCTION: b"pickle"})
    found = inspect(part, capture)
    assert isinstance(found, Candidate)
    value = pack_array(np.ones((1, 3, 3), "float32"))
    step = TracedStep("output", "float32", value, (), True)
    kinds = []

    class Evaluating:
        def request(self, kind: str, task: ToRunner, *_: float) -> FromRunner:
            kinds.append(kind)
            return TraceResult((TracedPass((step,)),))

    result = traced(found, case_oracle(A, B), [0], Evaluating(), part)
    assert ["extern"] == kinds
    assert [("output", "my_add")] == [(each.variable, each.callee) for each in result.steps]


class TestPasses:
    """What is written over steps in one pass is no help in another."""

    def kinds(self, part: PartTable) -> list[tuple[str, int]]:
        """Make as many passes as one task may have; return its kind, and how many it has."""
        told: list[tuple[str, int]] = []

        class Telling:
            def request(self, kind: str, task: ToRunner, *_: float) -> FromRunner:
                assert isinstance(task, TraceModule)
                told.append((kind, len(task.passes)))
                return TraceResult((TracedPass(()),) * len(task.passes))

        runners: Any = Telling()
        found, oracle = twice_and_more(1), model_oracle()
        arrangement = oracle.arrange(part, found.signature)
        assert isinstance(arrangement, Arrangement)
        runnable = Runnable(found, part, oracle, runners)
        most = most_passes(part)
        found_passes = trace_passes(runnable, [arrangement.first(1)], [{}] * most, tuple)
        assert not isinstance(found_passes, Problem)
        assert most == len(found_passes)
        return told

    def test_a_module_is_built_once_for_several(self) -> None:
        assert [("pure", 8)] == self.kinds(PART)

    def test_externs_have_a_process_of_their_own_for_each(self) -> None:
        """They remember: what was written over one's output would be its next answer."""
        assert [("extern", 1)] == self.kinds(msgspec.structs.replace(PART, externs=True))

    def test_another_number_of_passes_is_no_answer(self) -> None:
        runners = Runners(lambda _: TraceResult((TracedPass(()), TracedPass(()))))
        assert isinstance(gather(twice_and_more(1), model_oracle(), [0], runners), Problem)
