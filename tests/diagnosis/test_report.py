"""From a module that differs to a diagnosis: run by the runner's own code, beside real PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pytest
import torch
import tvm
from tvm import relax, te, topi
from tvm.script import relax as R  # noqa: N812
from tvm.tirx import PrimFunc

from grader.assignment import Assignment, CheckTable, GuideTable, OracleOptions, PartTable
from grader.checks import kinds as checks
from grader.data.dataset import DataSet
from grader.diagnosis import explain, report
from grader.diagnosis.align import Alignment, Observed
from grader.diagnosis.explain import explain_case
from grader.diagnosis.mistakes import LikelyMistake
from grader.diagnosis.report import Diagnosed, Look, choose_rows, diagnose
from grader.diagnosis.tracing import Traced
from grader.evidence.candidates import gather_outputs
from grader.evidence.case import Candidate, Case, Evidence, Outputs, Problem
from grader.evidence.named_cases import NamedCase
from grader.evidence.oracle import ModelOracle
from grader.evidence.problems import TIME_LIMIT
from grader.grading.judge import judge_case
from grader.inside.runner.entry import perform
from grader.ir.read import read_module
from grader.language import NOTHING, foreign, join
from grader.messages.kernel import Capture
from grader.messages.runner import TaskFailure, TraceModule
from grader.report import Diagnosis, texts
from tests.ir.misfitting import FIRST, unchecked
from tests.ir.modules import save
from tests.seeded import seeded

assert checks.__all__  # importing them registers them

BATCH, IMAGES, HIDDEN, WIDTH = 4, 12, 10, 16
_RANDOM = seeded(3)


def _drawn(*shape: int) -> np.ndarray:
    return (_RANDOM.standard_normal(shape) / np.sqrt(shape[-1])).astype(np.float32)


PARAMETERS = {
    "w0": _drawn(WIDTH, 784),
    "b0": _drawn(WIDTH),
    "w1": _drawn(10, WIDTH),
    "b1": _drawn(10),
}
PARAMETERS["b0"][-1] = 1  # or a ReLU makes 0 of the last number
LAST_TERM = np.where(np.arange(784) == 783, PARAMETERS["w0"], np.float32(0))
LAST_OF_SECOND = np.where(np.arange(WIDTH) == WIDTH - 1, PARAMETERS["w1"], np.float32(0))
WEIGHTS = {**PARAMETERS, "last": LAST_TERM}
OPTIONS = OracleOptions((784,), (10,), hidden_inputs=HIDDEN)
PART = PartTable(
    id="model",
    title="The model",
    entry_kind="function",
    entry=("f",),
    check=(CheckTable(id="equivalence", kind="equivalence", points=10),),
)
GUIDE = (
    GuideTable(heading="Pooling", about=("pooling_*", "max_pool2d")),
    GuideTable(heading="Softmax", headings={"ko": "소프트맥스"}, about=("softmax_axis",)),
    GuideTable(heading="The network", about=("linear",)),
)
ASSIGNMENT = Assignment(
    slug="small", title="Small", version=1, points=10, part=(PART,), oracle=OPTIONS, guide=GUIDE
)


def expected(_parameters: object, images: np.ndarray) -> np.ndarray:
    given = {name: torch.tensor(each).double() for name, each in PARAMETERS.items()}
    x = torch.tensor(images, dtype=torch.float64)
    x = torch.nn.functional.linear(x, given["w0"], given["b0"]).relu()
    x = torch.nn.functional.linear(x, given["w1"], given["b1"])
    return torch.softmax(x, dim=1).numpy()


@pytest.fixture(scope="module")
def oracle() -> ModelOracle:
    images = np.random.default_rng(5).integers(0, 256, (IMAGES, 28, 28), np.uint8)
    data = DataSet("built-in", foreign(""), images, np.arange(IMAGES, dtype=np.uint8) % 10, {})
    course = SimpleNamespace(expected=expected)
    return ModelOracle(course, OPTIONS, data, np.random.default_rng(0))  # type: ignore[arg-type]


def black() -> ModelOracle:
    """Return the oracle with images whose last pixel is 0."""
    images = np.random.default_rng(5).integers(1, 256, (IMAGES, 28, 28), np.uint8)
    images[:, -1, -1] = 0
    data = DataSet("built-in", foreign(""), images, np.arange(IMAGES, dtype=np.uint8) % 10, {})
    course: Any = SimpleNamespace(expected=expected)
    return ModelOracle(course, OPTIONS, data, np.random.default_rng(0))


class Runners:
    """Does each task at once, with the code that a runner does it with; counts them by kind."""

    def __init__(self, instead: Callable[[TraceModule], object] = perform) -> None:
        self.instead = instead
        self.tasks: list[type] = []

    def request(self, kind: str, task: Any, *_: float) -> object:
        assert "pure" == kind
        self.tasks.append(type(task))
        return self.instead(task) if isinstance(task, TraceModule) else perform(task)


def model(
    axis: int = 1,
    weight: str = "w0",
    relu: Callable[[Any], Any] = topi.nn.relu,
    scale: float = 1,
    result: Callable[[Any], Any] | None = None,
    behind: Callable[[Any, Any], Any] | None = None,
) -> Any:
    """Build the network, or one that differs in one thing; `result` is a function of the input,
    `behind` of the softmax and of the first product once more.
    """
    bb = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor((BATCH, 784), "float32"))
    given = {name: relax.const(each) for name, each in PARAMETERS.items()}
    with bb.function("main", [x]):
        with bb.dataflow():
            first = relax.const(WEIGHTS[weight] * np.float32(scale))
            y = bb.emit_te(topi.nn.dense, x, first, given["b0"])
            y = bb.emit(_called(bb, relu, y)) if isinstance(relu, PrimFunc) else bb.emit_te(relu, y)
            y = bb.emit_te(topi.nn.dense, y, given["w1"], given["b1"])
            y = bb.emit_te(result, x) if result else bb.emit_te(topi.nn.softmax, y, axis)
            if behind:
                y = bb.emit_te(behind, y, bb.emit_te(topi.nn.dense, x, first, given["b0"]))
            y = bb.emit_output(y)
        bb.emit_func_output(y)
    return bb.get()


def in_one() -> Any:
    """Build the network as one function, of each sum of which the last term is left."""
    bb = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor((BATCH, 784), "float32"))
    given = [LAST_TERM, PARAMETERS["b0"], LAST_OF_SECOND, PARAMETERS["b1"]]

    def network(x: Any, w0: Any, b0: Any, w1: Any, b1: Any) -> Any:
        hidden = topi.nn.relu(topi.nn.dense(x, w0, b0))
        return topi.nn.softmax(topi.nn.dense(hidden, w1, b1), 1)

    with bb.function("main", [x]):
        with bb.dataflow():
            y = bb.emit_output(bb.emit_te(network, x, *map(relax.const, given)))
        bb.emit_func_output(y)
    return bb.get()


def _called(bb: Any, function: PrimFunc, x: Any) -> Any:
    variable = bb.add_func(function, "relu")
    return relax.op.call_tir(variable, [x], R.Tensor((BATCH, WIDTH), "float32"))


def odd_relu(x: Any) -> Any:
    """No function of anybody's: what is larger than a sine."""
    return te.compute(x.shape, lambda *i: te.max(x[i], te.sin(37 * x[i])), name="odd")


@cache
def given(oracle: ModelOracle, **changes: Any) -> tuple[Diagnosed, Outputs]:
    """Return the network with some changes, and what it returns."""
    document = save(in_one() if changes == {"in_one": True} else model(**changes))
    candidate = Candidate(Capture("model", "f", 1, True, document), read_module(document))
    outputs = gather_outputs(candidate, PART, oracle, Runners(), ASSIGNMENT.comparison(PART))
    assert isinstance(outputs, Outputs)
    return Diagnosed(candidate, PART, ASSIGNMENT, oracle), outputs


@cache
def diagnosis_of(oracle: ModelOracle, **changes: Any) -> Diagnosis:
    found = diagnose(*given(oracle, **changes), Runners())
    assert found is not None
    return found


class TestDiagnose:
    def test_a_mistake_is_named_with_its_step_its_layer_and_a_link(
        self, oracle: ModelOracle
    ) -> None:
        found = diagnosis_of(oracle, axis=0)
        assert ["right", "right", "right", "wrong"] == [each.status for each in found.steps]
        assert ("softmax", (BATCH, 10), "softmax_axis") == (
            found.layer.english,
            found.wanted,
            found.mistake,
        )
        step = found.steps[found.wrong]
        assert ("softmax", (BATCH, 10)) == (step.callee, step.shape)
        assert f"`{step.variable} = softmax` differs" in found.message.english
        assert (
            "the softmax is computed along axis 0; it should be computed along axis 1"
            in found.message.english
        )
        assert "Compute the softmax along axis 1" in found.advice.english
        assert "Softmax" == found.link.english

    def test_the_output_is_the_step_with_its_numbers_and_not_the_last_right_one(
        self, oracle: ModelOracle
    ) -> None:
        """Who goes round a recurrent cell once more computes PyTorch's first product again."""
        shifted = lambda y, z: te.compute(y.shape, lambda i, j: y[i, j] + te.sin(z[i, j]), "f")  # noqa: E731
        found = diagnosis_of(oracle, behind=shifted)
        assert "`lv3 = softmax` is already PyTorch's output, and `lv5" in found.message.english

    def test_a_pass_is_told_to_keep_what_it_has_replaced(self, oracle: ModelOracle) -> None:
        """Nobody who writes a pattern computes an activation."""
        diagnosed, outputs = given(oracle, relu=topi.sigmoid)
        written = diagnose(diagnosed, outputs, Runners())
        part = msgspec.structs.replace(PART, entry_kind="pass")
        passed = diagnose(diagnosed._replace(part=part), outputs, Runners())
        assert written is not None and "instead of sigmoid" in written.advice.english
        assert passed is not None and "Let the pass keep relu here." == passed.advice.english

    def test_its_link_is_in_the_language_of_the_reader(self, oracle: ModelOracle) -> None:
        found = diagnose(*given(oracle, axis=0), Runners())
        assert found is not None and "소프트맥스" == found.link.in_("ko")

    def test_what_is_not_recognised_is_told_by_its_size_and_linked_by_its_layer(
        self, oracle: ModelOracle
    ) -> None:
        found = diagnosis_of(oracle, relu=odd_relu)
        assert ("", "relu", "odd_relu") == (
            found.mistake,
            found.layer.english,
            found.steps[found.wrong].callee,
        )
        assert "of PyTorch's largest value" in found.message.english
        assert "Compare" in found.advice.english or "elements are right" in found.advice.english
        assert NOTHING == found.link  # no entry is about relu, and none about everything else

    def test_a_last_term_that_is_zero_on_images_is_looked_at_on_other_inputs(self) -> None:
        """The edge of an image is black: what is left of the sum there is the bias alone."""
        assert "initialised_in_every_round" == diagnosis_of(black(), weight="last").mistake

    def test_what_nothing_explains_on_images_is_looked_at_on_other_inputs(self) -> None:
        """Of each sum the last term is left: of an image with a black corner that is nothing, and
        all images give the same scores."""
        found = diagnosis_of(black(), in_one=True)
        assert "initialised_in_every_round" == found.mistake
        assert "in 2 layers in the same way" in found.message.english

    def test_it_is_the_same_each_time(self, oracle: ModelOracle) -> None:
        assert diagnosis_of(oracle, axis=0) == diagnose(*given(oracle, axis=0), Runners())

    def test_it_fits_into_a_report(self, oracle: ModelOracle) -> None:
        found = diagnosis_of(oracle, scale=1.001)
        document = msgspec.json.encode(found, enc_hook=texts.encoder("ko"))
        assert found == msgspec.json.decode(document, type=Diagnosis, dec_hook=texts.decode)

    def test_no_value_of_an_input_or_of_an_answer_is_told(self, oracle: ModelOracle) -> None:
        """What is told has four digits at most; values have seven."""
        found = diagnosis_of(oracle, scale=1.001)
        told = msgspec.json.encode(found, enc_hook=texts.encoder("en")).decode()
        digits = [
            word for word in told.replace(",", " ").split() if sum(map(str.isdigit, word)) > 4
        ]
        assert [] == digits

    @pytest.mark.parametrize("is_known", [False, True])
    def test_of_a_function_that_a_guard_stopped_no_buffer_is_said_to_be_seen(
        self, is_known: bool, oracle: ModelOracle, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Its first buffer was called wrong, or no layer of PyTorch's."""
        steps = tuple(Observed(each, "f", None, (), takes_input=True) for each in "YC")
        mistake = LikelyMistake("wrong_index", "relu", {"block": "C", "found": "", "wanted": ""}, 0)
        alignment = Alignment(("unknown", "wrong"), (None, None), 1, expected=0, mistake=mistake)
        if not is_known:
            alignment = Alignment(("wrong", "follows"), (None, None), 0, expected=0)
        seen = Look(Traced(steps, ()), oracle.layers([0]), alignment)
        monkeypatch.setattr(report, "look", lambda *_: seen)
        found = diagnose(*given(oracle), Runners())
        assert (found is not None) == is_known
        if found is not None:
            assert (0, ["C"]) == (found.wrong, [each.variable for each in found.steps])

    def test_a_runner_that_dies_gives_none(self, oracle: ModelOracle) -> None:
        died = TaskFailure("run", "Died", "It died.")
        assert diagnose(*given(oracle, axis=0), Runners(lambda _task: died)) is None


class TestRows:
    """Which samples the module is run on."""

    def test_wrong_test_images_come_first(self, oracle: ModelOracle) -> None:
        diagnosed, right = given(oracle)
        actual, images = right.actual.copy(), oracle.from_test_set
        wrong = [int(np.flatnonzero(images)[3]), int(np.flatnonzero(~images)[2])]
        actual[wrong] += 1
        rows = choose_rows(replace(right, actual=actual), diagnosed)
        assert wrong == list(rows[:2])
        assert sorted(rows) == list(range(len(actual)))
        assert images[list(rows[2 : 1 + IMAGES])].all()

    def test_drawn_samples_come_before_those_of_named_cases(self, oracle: ModelOracle) -> None:
        diagnosed, right = given(oracle)
        cases = (NamedCase(foreign("zeros"), 0, 3), NamedCase(foreign("ones"), 3, 5))
        count = len(right.actual)
        named: Any = SimpleNamespace(
            options=oracle.options, cases=cases, from_test_set=np.zeros(count, np.bool_)
        )
        diagnosed = diagnosed._replace(oracle=named)
        rows = choose_rows(replace(right, actual=right.actual + 1), diagnosed)
        assert [*range(5, count), *range(5)] == list(rows)
        actual = right.actual.copy()
        actual[2] += 1
        assert 2 == choose_rows(replace(right, actual=actual), diagnosed)[0]

    def test_a_sample_in_which_little_is_wrong_is_not_the_first(self, oracle: ModelOracle) -> None:
        """Without an epsilon, samples of ordinary variances are off by less than is seen."""
        diagnosed, right = given(oracle)
        actual, images = right.actual.copy(), np.flatnonzero(oracle.from_test_set)
        actual[images[:2]] += 1e-3
        actual[images[3]] += 1
        actual[images[4]] += 0.9
        assert [3, 4] == [list(images).index(at) for at in self.rows(right, actual, diagnosed)[:2]]
        actual[images[2]] = np.nan
        assert images[2] in self.rows(right, actual, diagnosed)[:3]

    @staticmethod
    def rows(right: Outputs, actual: Any, diagnosed: Diagnosed) -> tuple[int, ...]:
        return choose_rows(replace(right, actual=actual), diagnosed)


def case_of(
    oracle: ModelOracle, outputs: Problem | None = None, **changes: Any
) -> tuple[Case, Diagnosed]:
    diagnosed, found = given(oracle, **changes)
    return Case(diagnosed.candidate, Evidence(outputs=outputs or found), OPTIONS), diagnosed


class TestExplainCase:
    """It is added to what is known of a candidate whose outputs are not right, and only there."""

    def test_a_part_that_differs_gains_a_diagnosis_and_an_image(self, oracle: ModelOracle) -> None:
        case, diagnosed = case_of(oracle, axis=0)
        before = judge_case(PART, case)
        after = judge_case(PART, explain_case(case, diagnosed, Runners()))
        assert (None, None) == (before.diagnosis, before.sample)
        assert after.diagnosis is not None and after.sample is not None
        assert before.score == after.score
        assert after.diagnosis.advice == after.checks[0].hint
        seen = before.checks[0].reason
        assert join(after.diagnosis.message, seen) == after.checks[0].reason
        assert after.checks[0].tells_diagnosis and not before.checks[0].tells_diagnosis
        assert "values" == after.checks[0].code == before.checks[0].code

    def test_it_takes_one_run(self, oracle: ModelOracle) -> None:
        runners = Runners()
        explain_case(*case_of(oracle, axis=0), runners)
        assert [TraceModule] == runners.tasks

    def test_a_right_submission_is_not_run_again(self, oracle: ModelOracle) -> None:
        runners = Runners()
        case, diagnosed = case_of(oracle)
        assert case is explain_case(case, diagnosed, runners)
        assert [] == runners.tasks

    def test_what_ran_out_of_time_is_not_run_again(self, oracle: ModelOracle) -> None:
        runners = Runners()
        case, diagnosed = case_of(oracle, TIME_LIMIT, axis=0)
        assert case is explain_case(case, diagnosed, runners)
        assert [] == runners.tasks

    def test_what_does_not_fit_its_function_is_not_run_again(self, oracle: ModelOracle) -> None:
        """Nothing runs before it is built: the first step would be named, whatever is wrong."""
        runners = Runners()
        case, diagnosed = case_of(oracle, Problem(foreign("no"), code="not_built"), axis=0)
        facts = read_module(unchecked(FIRST.replace("w0, b0", "b0, w0")))
        case = replace(case, candidate=replace(case.candidate, facts=facts))
        assert case is explain_case(case, diagnosed, runners)

    def test_of_what_cannot_be_built_no_step_is_said_to_stop(self, oracle: ModelOracle) -> None:
        """Two functions of one name are no fault of the first operator."""
        runners = Runners()
        case, diagnosed = case_of(oracle, Problem(foreign("no"), code="not_built"), axis=0)
        assert case is explain_case(case, diagnosed, runners)
        assert [] == runners.tasks
        assert [] == runners.tasks

    def test_what_a_schedule_of_kernels_begins_on_is_diagnosed(
        self, oracle: ModelOracle, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        wrong, diagnosed = case_of(oracle, axis=0)
        monkeypatch.setattr(explain, "computed", lambda _: wrong.evidence.outputs)
        capture = msgspec.structs.replace(wrong.candidate.capture, base=b"", trace=b"[]")
        capture = msgspec.structs.replace(capture, base=capture.module)
        candidate = replace(wrong.candidate, capture=capture, base=wrong.candidate.facts)
        case = Case(candidate, Evidence(), OPTIONS)
        found = explain_case(case, diagnosed._replace(candidate=candidate), Runners()).evidence
        assert found.schedule is not None and found.diagnosis is not None
        begins = "The function that the schedule begins on gives wrong outputs itself."
        assert found.diagnosis.message.english.startswith(begins)
        assert found.diagnosis.message == found.schedule.reason  # which would be told twice
        assert found.diagnosis.advice == found.schedule.hint
        assert "softmax_axis" == found.diagnosis.mistake

    def test_what_kernels_begin_on_and_leaves_its_buffer_is_told(
        self, oracle: ModelOracle, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It is not run, and the kernels' own index is none that the student wrote."""
        wrong, diagnosed = case_of(oracle, axis=0)
        monkeypatch.setattr(explain, "computed", lambda _: wrong.evidence.outputs)
        x = te.placeholder((4,), "float32", name="X")
        function = te.create_prim_func([x, te.compute((4,), lambda i: x[i + 1], name="Y")])
        base = save(tvm.IRModule({"main": function}))
        capture = msgspec.structs.replace(wrong.candidate.capture, base=base)
        candidate = replace(wrong.candidate, capture=capture, base=read_module(base))
        case = Case(candidate, Evidence(), OPTIONS)
        found = explain_case(case, diagnosed._replace(candidate=candidate), Runners()).evidence
        assert found.schedule is not None
        assert "begins on gives wrong outputs itself." in found.schedule.reason.english
        assert "index number 1 of the buffer `X` runs from 1 to 4" in found.schedule.reason.english

    def test_of_kernels_whose_function_is_right_nothing_more_is_said(
        self, oracle: ModelOracle, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        wrong, _ = case_of(oracle, axis=0)
        right, diagnosed = case_of(oracle)
        monkeypatch.setattr(explain, "computed", lambda _: wrong.evidence.outputs)
        capture = right.candidate.capture
        capture = msgspec.structs.replace(capture, base=capture.module)
        candidate = replace(right.candidate, capture=capture, base=right.candidate.facts)
        case = Case(candidate, Evidence(), OPTIONS)
        assert case is explain_case(case, diagnosed._replace(candidate=candidate), Runners())

    def test_a_run_that_failed_is_looked_at(self, oracle: ModelOracle) -> None:
        case, diagnosed = case_of(oracle, Problem(foreign("It gave two outputs.")), axis=0)
        found = explain_case(case, diagnosed, Runners()).evidence
        assert found.diagnosis is not None and "softmax_axis" == found.diagnosis.mistake
        assert found.sample is None

    def test_a_diagnosis_that_fails_costs_nothing_and_warns_whoever_runs_it(
        self, oracle: ModelOracle
    ) -> None:
        def fail(_task: object) -> object:
            raise RuntimeError("no runner")

        case, diagnosed = case_of(oracle, axis=0)
        with pytest.warns(RuntimeWarning, match="no runner"):
            found = explain_case(case, diagnosed, Runners(fail))
        assert judge_case(PART, case) == judge_case(PART, found)
