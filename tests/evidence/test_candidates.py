"""Which captures of a part are looked at, and in which order."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pytest
import tvm
from msgspec.structs import replace
from tvm import relax
from tvm.script import relax as R  # noqa: N812 - as courses write it
from tvm.script import tirx as T  # noqa: N812 - as courses write it

from grader.assignment import ArgumentTable, Computation, PartTable, TensorTable
from grader.assignment_files import GivenForms
from grader.data.dataset import no_data
from grader.errors import ProtocolError
from grader.evidence.candidates import (
    CANDIDATE_LIMIT,
    PYTHON_LIMIT,
    candidate_limit,
    gather_outputs,
    gather_stubs,
    in_order,
    inspect,
    is_given,
    is_meant,
)
from grader.evidence.case import Candidate, Problem, StubOutputs
from grader.evidence.oracle import ModelOracle
from grader.ir.facts import BufferFacts, FunctionFacts, ModuleFacts, TensorFacts
from grader.ir.read import read_module
from grader.language import NOTHING, foreign
from grader.messages.frames import Array, pack_array, unpack_array
from grader.messages.kernel import PYTHON_FUNCTION, Capture
from grader.messages.runner import RunResult, TaskFailure
from tests.evidence.factory import ORACLE, argument, call, case, module
from tests.ir.misfitting import FIRST, unchecked
from tests.ir.modules import save


def part(kind: str = "module", *, only_named: bool = False) -> PartTable:
    return PartTable(
        id="p", title="A part", entry_kind=kind, entry=("f",), check=(), only_named=only_named
    )


def capture(cell: int, *, by_name: bool = True, trace: bytes | None = None) -> Capture:
    return Capture("p", "f", cell, by_name, b"{}", trace=trace)


def test_what_bears_the_name_comes_first_and_the_latest_of_it() -> None:
    found = [capture(1), capture(2, by_name=False), capture(3), capture(4, by_name=False)]
    assert [3, 1, 4, 2] == [each.cell for each in in_order(found)]


@pytest.mark.parametrize(("kind", "limit"), [("module", CANDIDATE_LIMIT), ("python", PYTHON_LIMIT)])
def test_so_many_are_run_at_most(kind: str, limit: int) -> None:
    assert limit == candidate_limit(part(kind))


def test_another_name_is_no_answer_where_only_named_ones_are_unless_it_was_scheduled() -> None:
    other = capture(1, by_name=False)
    assert is_meant(part(), other)
    assert not is_meant(part(only_named=True), other)
    assert is_meant(part(only_named=True), capture(1, by_name=False, trace=b"[]"))
    assert is_meant(part(only_named=True), capture(1))


def test_a_python_function_comes_alone_and_without_a_module() -> None:
    python = Capture("p", "f", 1, True, b"", externs={PYTHON_FUNCTION: b"x"})
    assert isinstance(inspect(part("python"), python), Candidate)
    for forged in (
        Capture("p", "f", 1, True, b"{}", externs={PYTHON_FUNCTION: b"x"}),
        Capture("p", "f", 1, True, b"", externs={PYTHON_FUNCTION: b"x", "env.f": b"x"}),
        Capture("p", "f", 1, True, b""),
    ):
        assert isinstance(inspect(part("python"), forged), Problem)
    assert isinstance(inspect(part("module"), python), Problem)


@T.prim_func(s_tir=True)  # type: ignore[untyped-decorator]
def begun(a: T.Buffer((4,)), b: T.Buffer((4,))):  # type: ignore[no-untyped-def,valid-type]
    y = T.sblock_alloc_buffer((4,))  # noqa: F841
    for _i in range(4):
        pass


@T.prim_func(s_tir=True)  # type: ignore[untyped-decorator]
def written(a: T.Buffer((4,)), b: T.Buffer((4,))):  # type: ignore[no-untyped-def,valid-type]
    for i in range(4):
        b[i] = a[i]


def test_a_function_in_which_nothing_is_done_is_not_solved_yet() -> None:
    """It was told that a buffer which nobody had written differs from PyTorch's layer."""

    def inspected(*functions: Any) -> Candidate | Problem:
        names = {f"f{place}": function for place, function in enumerate(functions)}
        return inspect(part("module"), Capture("p", "Mine", 2, True, save(tvm.IRModule(names))))

    found = inspected(begun)
    assert isinstance(found, Problem)
    assert ("Mine (code cell 2) is not solved yet.", "unsolved") == (
        found.reason.english,
        found.code,
    )
    assert isinstance(inspected(written), Candidate)
    assert isinstance(inspected(begun, written), Candidate)


@T.prim_func(s_tir=True)  # type: ignore[untyped-decorator]
def summed_at_once(a: T.Buffer((4,)), b: T.Buffer((1,))):  # type: ignore[no-untyped-def,valid-type]
    b[0] = T.float32(0)
    for i in T.parallel(4):
        b[0] = b[0] + a[i]


def test_iterations_that_overlap_cost_the_outputs_alone() -> None:
    """Whoever made the wrong loop parallel earned nothing for the blocks, which were right."""
    captured = Capture("p", "Mine", 2, True, save(tvm.IRModule({"f": summed_at_once})))
    found = inspect(part("module"), captured)
    assert isinstance(found, Candidate)
    nobody: Any = None
    outputs = gather_outputs(found, part(), nobody, nobody, nobody)
    assert isinstance(outputs, Problem)
    assert "not_deterministic" == outputs.code
    assert "parallel loop `i` write the same elements" in outputs.reason.english
    assert "Make a loop of a spatial axis parallel" in outputs.hint.english


def test_a_registered_function_where_none_belongs_is_told_to_be_left_out() -> None:
    """Who scheduled the module of another part was told to use arithmetic only."""
    x, y = relax.Var("x", R.Tensor((4,), "float32")), R.Tensor((4,), "float32")
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.op.call_dps_packed("env.f", [x], y)))
    made = Capture("p", "f", 1, True, save(builder.get()), externs={"env.f": b"x"})
    found = inspect(part("schedule"), made)
    assert isinstance(found, Problem)
    assert "Use a module without external functions here" in found.hint.english


class TestGiven:
    """What the assignment gives is known by its form, whatever is around it."""

    GIVEN = GivenForms(frozenset({"target"}), frozenset({"lecture"}))
    ADDITION = Computation(
        id="add",
        arguments=(ArgumentTable((4,), "float32", name="A"),),
        outputs=(TensorTable((4,), "float32"),),
    )

    def function(self, form: str, extent: int = 4) -> FunctionFacts:
        parameter = BufferFacts("A", TensorFacts((extent,), "float32"))
        return FunctionFacts("f", (parameter, parameter), (), (), form=form)

    def candidate(
        self, facts: ModuleFacts, base: ModuleFacts | None = None, *, by_name: bool = True
    ) -> Candidate:
        return Candidate(capture(1, by_name=by_name), facts, base)

    def functions(self, *forms: str, extent: int = 4) -> ModuleFacts:
        found = {f"f{place}": self.function(each, extent) for place, each in enumerate(forms)}
        return replace(module(functions=found), has_main=False)

    def test_a_function_is_under_any_name(self) -> None:
        facts = self.functions("target")
        assert is_given(self.candidate(facts), self.ADDITION, self.GIVEN)
        assert is_given(self.candidate(facts, by_name=False), self.ADDITION, self.GIVEN)
        assert not is_given(self.candidate(self.functions("mine")), self.ADDITION, self.GIVEN)

    def test_what_is_shown_is_only_under_another_one(self) -> None:
        facts = self.functions("lecture")
        assert not is_given(self.candidate(facts), self.ADDITION, self.GIVEN)
        assert is_given(self.candidate(facts, by_name=False), self.ADDITION, self.GIVEN)

    def test_an_example_that_computes_something_else_is(self) -> None:
        assert is_given(
            self.candidate(self.functions("target", extent=5)), self.ADDITION, self.GIVEN
        )

    def test_a_main_that_does_nothing_but_call_it_is(self) -> None:
        facts = replace(
            module(call("tir", "f"), functions={"f": self.function("target")}),
            has_main=True,
            form="main",
        )
        assert is_given(self.candidate(facts), self.ADDITION, self.GIVEN)
        more = replace(facts, calls=(*facts.calls, call("operator", "relax.add")))
        assert not is_given(self.candidate(more), self.ADDITION, self.GIVEN)

    def test_a_schedule_that_started_there_is(self) -> None:
        candidate = self.candidate(self.functions("mine"), self.functions("target"))
        assert is_given(candidate, self.ADDITION, self.GIVEN)

    def test_nothing_is_where_nothing_is_given(self) -> None:
        assert not is_given(self.candidate(self.functions("target")), self.ADDITION, GivenForms())
        assert not is_given(self.candidate(self.functions("")), self.ADDITION, self.GIVEN)


# --- gather ---------------------------------------------------------------------------------------
# From runs with noise in place of externs to evidence, or to the problem that there was.


CANDIDATE = case(module(call("extern", "env.c", argument("input", 4, 1, 28, 28)))).candidate

PART = PartTable(id="model", title="", entry_kind="function", entry=("f",), check=(), externs=True)


class Runners:
    """Answers each task with `answer(inputs, task)`; an error is raised."""

    def __init__(self, answer):
        self.answer, self.seeds = answer, []

    def request(self, kind, task):
        assert "pure" == kind
        assert {} == task.externs
        self.seeds.append(task.stubs["env.c"])
        answer = self.answer(unpack_array(task.arguments[0].array), task)
        if isinstance(answer, Exception):
            raise answer
        return answer


def gather(runners, batches=3):
    options = msgspec.structs.replace(ORACLE, hidden_inputs=batches * 4)
    oracle = ModelOracle(SimpleNamespace(), options, no_data(), np.random.default_rng(0))
    return gather_stubs(CANDIDATE, PART, oracle, runners, np.random.default_rng(1))


def model(of_input: float, of_noise: float):
    """A model whose output is a sum of its input and of noise that each call makes anew."""

    def answer(inputs, task):
        calls = np.arange(len(inputs))
        noise = (calls - (calls >= task.restart) * task.restart + 1) * 3.0
        outputs = of_input * inputs.sum((2, 3, 4)) + of_noise * noise[:, None]
        return RunResult(pack_array(outputs.astype("float64")))

    return answer


def differences(stubs) -> tuple[bool, bool]:
    assert isinstance(stubs, StubOutputs)
    assert stubs.first.shape == stubs.second.shape == stubs.elsewhere.shape
    return (
        not np.array_equal(stubs.first, stubs.second),
        not np.array_equal(stubs.first, stubs.elsewhere),
    )


def test_one_run_tells_noise_and_input_apart():
    runners = Runners(model(of_input=0, of_noise=1))
    assert (True, False) == differences(gather(runners))
    assert 1 == len(runners.seeds)
    assert (False, True) == differences(gather(Runners(model(of_input=1, of_noise=0))))
    assert (True, True) == differences(gather(Runners(model(of_input=1, of_noise=1))))


def test_a_single_batch_is_enough():
    assert (True, False) == differences(gather(Runners(model(of_input=0, of_noise=1)), batches=1))


def test_an_answer_that_cannot_be_read_is_a_problem():
    damaged = RunResult(Array("float32", (4, 4, 10), b""))
    for answer in (damaged, ProtocolError(foreign("no message"), NOTHING)):
        assert isinstance(gather(Runners(lambda inputs, task, answer=answer: answer)), Problem)


def test_a_failure_is_a_problem():
    failure = TaskFailure("run", "Died", "It died.")
    assert isinstance(gather(Runners(lambda inputs, task: failure)), Problem)


def test_an_answer_for_fewer_calls_is_a_problem():
    short = RunResult(pack_array(np.zeros((5, 4, 10), np.float32)))
    assert isinstance(gather(Runners(lambda inputs, task: short)), Problem)


def test_of_a_module_that_cannot_be_built_the_call_that_does_not_fit_is_named():
    facts = read_module(unchecked(FIRST.replace("w0, b0", "b0, w0")))
    fits = read_module(unchecked())
    arrangement = SimpleNamespace(function="", outputs=(), samples=1, packed=tuple)
    oracle = SimpleNamespace(groups=[None], arrange=lambda *_: arrangement)
    for name, each, said in (("build", facts, True), ("run", facts, False), ("build", fits, False)):
        failure = TaskFailure(name, "Raised", "type mismatch")
        runners = SimpleNamespace(request=lambda *_, failure=failure: failure)
        problem = gather_outputs(Candidate(capture(1), each), part(), oracle, runners, None)
        assert said == problem.reason.english.startswith("The call of `first` for `lv` passes `b0`")
        assert said == (problem.hint.english == "Swap `b0` and `w0` in the call of `first`.")


@pytest.mark.parametrize("kind", ["extern", "tir"])
def test_of_an_external_function_that_takes_too_long_python_loops_are_told(kind: str) -> None:
    """A convolution in loops over pixels needs no shorter loops."""
    facts = module(call(kind, "env.conv2d"))
    arrangement = SimpleNamespace(function="", outputs=(), samples=1, packed=tuple)
    oracle = SimpleNamespace(groups=[None], arrange=lambda *_: arrangement)
    runners = SimpleNamespace(request=lambda *_: TaskFailure("run", "TimeLimit", "Too long."))
    problem = gather_outputs(Candidate(capture(1), facts), part(), oracle, runners, None)
    assert (kind == "extern") == ("on whole arrays" in problem.hint.english)
