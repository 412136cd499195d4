"""What a runner says of a schedule's step is believed only as far as it fits the trace."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import matplotlib.image
import msgspec
import numpy as np
import pytest

from grader.assignment import OracleOptions
from grader.data.dataset import CLASS_NAMES, DataSet, no_data
from grader.diagnosis import explain
from grader.diagnosis.explain import (
    choose_sample,
    encode_png,
    find_step,
    find_step_not_replayed,
)
from grader.diagnosis.report import Diagnosed, choose_rows
from grader.errors import SandboxError
from grader.evidence.case import Case, Evidence, Outputs, Problem
from grader.evidence.oracle import ModelOracle
from grader.ir.read import read_module
from grader.language import foreign
from grader.messages.frames import decode_payload, encode_frame, pack_array, unpack_array
from grader.messages.runner import FindStep, FoundStep, TaskFailure, TraceResult
from grader.report import Sample
from tests.diagnosis.test_report import Runners, diagnosis_of, expected, given, model, oracle
from tests.ir.modules import save

__all__ = ["oracle"]

TRACE = [
    ["GetSBlock", [], ["compute", "relu"], ["b0"]],
    ["GetLoops", ["b0"], [], ["l1", "l2"]],
    ["Parallel", ["l1"], [], []],
    ["GetLoops", ["b0"], [], ["l3", "l4"]],
    ["Vectorize", ["l4"], [], []],
]

Answer = FoundStep | TaskFailure | TraceResult
Make = Callable[[FindStep], Answer]


class Says:
    """A runner that answers as it is told; the answer goes through a message."""

    def __init__(self, make: Make) -> None:
        self.make = make
        self.asked = 0

    def request(self, _kind: str, task: Any, *_: float) -> object:
        self.asked += 1
        answer = self.make(task)
        return decode_payload(encode_frame(answer)[8:], type(answer))


def found(**changes: Any) -> Make:
    """Return an answer that says the truth, but for some changes."""

    def make(task: FindStep) -> FoundStep:
        images = unpack_array(task.run.arguments[0].array)
        right = np.stack([expected(None, each) for each in images]).astype(np.float32)
        truth = FoundStep(pack_array(right), 2, 2, "Vectorize", ("compute",), ("j",))
        return msgspec.structs.replace(truth, **changes)

    return make


def ask(oracle: ModelOracle, make: Make, trace: object = TRACE) -> tuple[Problem | None, Says]:
    """Return what is said of a schedule whose result is wrong, of a module that is right."""
    wrong, outputs = given(oracle, axis=0)
    base = save(model())
    document = json.dumps([trace, []]).encode()
    capture = msgspec.structs.replace(wrong.candidate.capture, base=base, trace=document)
    candidate = replace(wrong.candidate, capture=capture, base=read_module(base))
    diagnosed: Diagnosed = wrong._replace(candidate=candidate)
    runner = Says(make)
    return find_step(diagnosed, cast(Outputs, outputs), cast(Any, runner)), runner


def test_a_step_of_the_trace_is_told(oracle: ModelOracle) -> None:
    told, _ = ask(oracle, found(may_go=True))
    assert told is not None
    assert "Step 2 of 2, `vectorize(compute, j)`" in told.reason.english
    assert "Leave this step out" in told.hint.english


LAYOUT = [
    ["GetSBlock", [], ["compute", "relu"], ["b0"]],
    ["TransformLayout", ["b0", "{}"], [0, 0, None, False], []],
]
PIPELINE = [
    ["Annotate", ["b0", [0, 1]], ["software_pipeline_stage"], []],
    ["Annotate", ["b0", [1, 0]], ["software_pipeline_order"], []],
]


def unread(oracle: ModelOracle, trace: object, axis: int = 1) -> Problem | None:
    """Return what is said of a step that is not replayed, of a module that is right or not."""
    wrong, _ = given(oracle, axis=0)
    base = save(model(axis=axis))
    capture = msgspec.structs.replace(
        wrong.candidate.capture, base=base, trace=json.dumps([trace, []]).encode()
    )
    candidate = replace(wrong.candidate, capture=capture, base=read_module(base))
    return find_step_not_replayed(wrong._replace(candidate=candidate), cast(Any, Runners()))


class TestNotReplayed:
    def test_the_step_is_named(self, oracle: ModelOracle) -> None:
        told = unread(oracle, LAYOUT)
        assert told is not None
        assert "This step can do that: `transform_layout`" in told.reason.english
        assert "before and after `transform_layout`" in told.hint.english

    def test_an_annotation_is_named_by_its_key(self, oracle: ModelOracle) -> None:
        told = unread(oracle, [LAYOUT[0], *PIPELINE[:1]])
        assert told is not None
        assert 'This step can do that: `annotate("software_pipeline_stage")`' in told.reason.english

    def test_of_several_all_are_named_and_none_is_blamed(self, oracle: ModelOracle) -> None:
        told = unread(oracle, [*LAYOUT, *PIPELINE, LAYOUT[1]])
        assert told is not None
        named = [f'`annotate("software_pipeline_{each}")`' for each in ("stage", "order")]
        assert ", ".join(["`transform_layout`", *named]) in told.reason.english
        assert "after each of these steps" in told.hint.english

    def test_where_the_module_is_wrong_before_it_is_not(self, oracle: ModelOracle) -> None:
        assert unread(oracle, LAYOUT, axis=0) is None

    @pytest.mark.parametrize("trace", [TRACE, [["<b>", [], [], []]], "no trace"])
    def test_nothing_else_is(self, oracle: ModelOracle, trace: object) -> None:
        assert unread(oracle, trace) is None


def same_outputs(oracle: ModelOracle) -> Any:
    """Return what a module gives that is wrong along with its schedule, as a runner sends it."""
    diagnosed, outputs = given(oracle, axis=0)
    rows = choose_rows(outputs, diagnosed)[:4]
    return pack_array(outputs.actual[list(rows)][None].astype(np.float32))


def told_of_base(oracle: ModelOracle) -> Problem:
    """Return what is said of a module that gives the same wrong outputs without its schedule."""
    told, _ = ask(oracle, found(number=0, outputs=same_outputs(oracle)))
    assert told is not None
    return told


def test_a_module_that_is_wrong_without_its_schedule_is_told_to_be_mended(
    oracle: ModelOracle,
) -> None:
    told = told_of_base(oracle)
    assert "gives the same wrong outputs" in told.reason.english
    assert "Fix the module" in told.hint.english


def test_such_a_module_is_diagnosed_as_it_was_written(
    oracle: ModelOracle, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A copy that `cache_read` has made is no step in which anything is wrong."""
    wrong, outputs = given(oracle, axis=0)
    base = save(model(axis=0)) + b" "
    capture = msgspec.structs.replace(
        wrong.candidate.capture, base=base, trace=json.dumps([TRACE, []]).encode()
    )
    candidate = replace(wrong.candidate, capture=capture, base=read_module(base))
    seen: list[bytes] = []
    monkeypatch.setattr(
        explain, "diagnose", lambda each, *_: seen.append(each.candidate.capture.module)
    )
    case = Case(candidate, Evidence(outputs=cast(Outputs, outputs)), oracle.options)
    runner = Says(found(number=0, outputs=same_outputs(oracle)))
    explain.explain_case(case, wrong._replace(candidate=candidate), cast(Any, runner))
    assert [base] == seen


def test_a_sum_that_nothing_begins_is_wrong_without_its_schedule(oracle: ModelOracle) -> None:
    """NaN is what both give, and the first step seems to change it."""
    wrong, outputs = given(oracle, axis=0)
    nothing = np.full_like(outputs.actual, np.nan)
    capture = msgspec.structs.replace(
        wrong.candidate.capture, base=save(model()), trace=json.dumps([TRACE, []]).encode()
    )
    candidate = replace(wrong.candidate, capture=capture, base=read_module(save(model())))
    runner = Says(found(number=1, outputs=pack_array(np.full((1, 4, 10), np.nan, "float32"))))
    told = find_step(
        wrong._replace(candidate=candidate),
        replace(cast(Outputs, outputs), actual=nothing),
        cast(Any, runner),
    )
    assert told is not None
    assert "gives the same wrong outputs" in told.reason.english


@pytest.mark.parametrize(("mistake", "advice"), [("zeros", "its own"), ("", "Fix the module")])
def test_a_known_mistake_of_such_a_module_keeps_its_advice(
    oracle: ModelOracle, mistake: Any, advice: str
) -> None:
    told = told_of_base(oracle)
    own = msgspec.structs.replace(
        diagnosis_of(oracle, axis=0), mistake=mistake, advice=foreign("its own")
    )
    both = explain._with_schedule(own, told)
    assert (mistake, True) == (both.mistake, advice in both.advice.english)
    assert own.message.english in both.message.english


LIES: dict[str, Make] = {
    "no step": found(number=0),
    "a step behind the last": found(number=3),
    "a step far behind the last": found(number=2**40),
    "other steps": found(steps=9),
    "another instruction": found(instruction="Fuse"),
    "an instruction that is none": found(instruction="\x1b[2J`<b>"),
    "an instruction that looks something up": found(number=1, instruction="GetLoops"),
    "outputs that are not right": found(outputs=pack_array(np.ones((1, 4, 10), "float32"))),
    "no numbers": found(outputs=pack_array(np.full((1, 4, 10), np.nan, "float32"))),
    "infinite outputs": found(outputs=pack_array(np.full((1, 4, 10), np.inf, "float32"))),
    "too few outputs": found(outputs=pack_array(np.ones((1, 1), "float32"))),
    "a name of a megabyte": found(blocks=("b" * 2**20,)),
    "a reader of a megabyte": found(within="sum", reader="b" * 2**20),
    "a hundred names": found(loops=("j",) * 100),
    "a failure": lambda _task: TaskFailure("run", "TimeLimit", "It took too long."),
    "another answer": lambda _task: TraceResult(()),
}


@pytest.mark.parametrize("lie", LIES)
def test_an_answer_that_cannot_be_says_nothing(lie: str, oracle: ModelOracle) -> None:
    told, runner = ask(oracle, LIES[lie])
    assert (None, 1) == (told, runner.asked)


@pytest.mark.parametrize(
    "name", ["\x1b[31mred", "a`b", "line\nline", "\u202eright to left", "n" * 200]
)
def test_names_are_shown_short_and_printable(name: str, oracle: ModelOracle) -> None:
    changes = {"blocks": (name,) * 8, "reader": name, "writer": name, "within_loop": name}
    told, _ = ask(oracle, found(within="lanes", other_loop=name, **changes))
    assert told is not None
    for text in (told.reason, told.hint):
        assert text.english.isprintable()
        assert len(text.english) < 600
        assert 0 == text.english.count("`") % 2


HOSTILE: dict[str, object] = {
    "2,001 instructions": [TRACE[0], *[TRACE[1]] * 2000],
    "names that are given twice": [*TRACE, *TRACE],
    "a name of a megabyte": [["GetSBlock", [], ["b" * 2**20, "relu"], ["b0"]]],
    "control characters": [["GetSBlock", [], ["\x1b[2J", "relu"], ["b0"]]],
    "a function of the student's": [["GetSBlock", [], ["compute", "relu"], ["b0"]], ["Tensorize"]],
    "no list": "",
    "deeply nested": json.loads("[" * 90 + "]" * 90),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_trace_reaches_no_runner(kind: str, oracle: ModelOracle) -> None:
    told, runner = ask(oracle, found(), HOSTILE[kind])
    assert (None, 0) == (told, runner.asked)


# --- sample ---------------------------------------------------------------------------------------
# The test image that is shown: a real one, the most telling one, and never a hidden input.


IMAGES, HIDDEN, KINDS = 30, 20, 10
ALL = np.ones(IMAGES + HIDDEN, bool)


def data() -> DataSet:
    random = np.random.default_rng(5)
    images = random.integers(0, 256, (IMAGES, 28, 28), np.uint8)
    return DataSet("built-in", foreign(""), images, np.arange(IMAGES, dtype=np.uint8) % KINDS, {})


def make(seed: int = 0, images: DataSet | None = None) -> ModelOracle:
    options = OracleOptions((784,), (KINDS,), hidden_inputs=HIDDEN)
    generator = np.random.default_rng(seed)
    return ModelOracle(SimpleNamespace(), options, images or data(), generator)  # type: ignore[arg-type]


def right(oracle: ModelOracle) -> np.ndarray:
    """Scores that know every image's class: 1 for it, 0 for the others."""
    scores = np.zeros((IMAGES + HIDDEN, KINDS))
    images = oracle.from_test_set
    scores[images, oracle.data.labels[oracle.places[images]]] = 1
    return scores


def chosen(oracle: ModelOracle, actual: np.ndarray, wrong: np.ndarray = ALL) -> Sample | None:
    return choose_sample(Outputs(actual, right(oracle), oracle.from_test_set), wrong, oracle)


def row_of(oracle: ModelOracle, place: int) -> int:
    return int(np.flatnonzero(oracle.places == place)[0])


class TestChoice:
    def test_it_is_an_image_whose_class_is_another_one(self) -> None:
        oracle = make()
        actual = right(oracle)
        actual[:, 3] += 0.4  # as large a difference, the same class
        actual[row_of(oracle, 12)] = np.eye(KINDS)[7] * 0.3
        sample = chosen(oracle, actual)
        assert sample is not None
        assert (12, 2, 7, 2) == (sample.place, sample.label, sample.predicted, sample.pytorch)

    def test_an_image_that_pytorch_knows_comes_before_one_that_it_does_not(self) -> None:
        oracle = make()
        actual, desired = right(oracle), right(oracle)
        unknown, known = row_of(oracle, 4), row_of(oracle, 25)
        desired[unknown] = np.eye(KINDS)[9]
        actual[unknown] = np.eye(KINDS)[1] * 5
        actual[known] = np.eye(KINDS)[1]
        outputs = Outputs(actual, desired, oracle.from_test_set)
        sample = choose_sample(outputs, ALL, oracle)
        assert sample is not None and 25 == sample.place

    def test_where_all_classes_agree_it_is_the_largest_difference(self) -> None:
        oracle = make()
        actual = right(oracle) * 1.1
        actual[row_of(oracle, 17)] *= 1.5
        sample = chosen(oracle, actual)
        assert sample is not None and 17 == sample.place

    def test_it_is_the_same_one_in_every_order_of_the_samples(self) -> None:
        found = {chosen(oracle, right(oracle) + 1) for oracle in map(make, range(4))}
        assert 1 == len(found)

    def test_only_samples_that_are_wrong_are_shown(self) -> None:
        oracle = make()
        wrong = np.zeros_like(ALL)
        wrong[row_of(oracle, 8)] = True
        sample = chosen(oracle, right(oracle) + 1, wrong)
        assert sample is not None and 8 == sample.place

    @pytest.mark.parametrize("seed", range(4))
    def test_a_hidden_input_is_never_shown(self, seed: int) -> None:
        oracle = make(seed)
        assert chosen(oracle, right(oracle) + 9, ~oracle.from_test_set) is None


class TestContent:
    def test_it_is_the_image_of_the_test_set_with_its_scores(self) -> None:
        oracle = make()
        sample = chosen(oracle, right(oracle) + 1)
        assert sample is not None
        png = base64.b64decode(sample.image)
        shown = matplotlib.image.imread(io.BytesIO(png), format="png") * 255
        assert np.array_equal(oracle.data.images[sample.place], shown.round())
        assert CLASS_NAMES == sample.classes
        assert np.array_equal(np.eye(KINDS)[sample.label], sample.pytorch_scores)
        assert np.array_equal(np.eye(KINDS)[sample.label] + 1, sample.scores)

    def test_scores_that_are_not_finite_are_none_and_win_nothing(self) -> None:
        oracle = make()
        actual = right(oracle)
        actual[:, 0], actual[:, 1], actual[:, 6] = np.nan, np.inf, 2
        sample = chosen(oracle, actual)
        assert sample is not None
        assert ((None, None), 6) == (sample.scores[:2], sample.predicted)
        assert sample == msgspec.json.decode(msgspec.json.encode(sample), type=Sample)

    def test_images_of_which_no_score_is_finite_are_not_shown(self) -> None:
        oracle = make()
        assert chosen(oracle, np.full((IMAGES + HIDDEN, KINDS), np.nan)) is None


class TestWhereThereIsNone:
    def test_outputs_of_another_shape_are_no_scores(self) -> None:
        oracle = make()
        assert chosen(oracle, np.zeros((IMAGES + HIDDEN, 5))) is None

    def test_an_assignment_without_images_has_none(self) -> None:
        oracle = make(images=no_data())
        outputs = Outputs(np.ones((HIDDEN, KINDS)), np.zeros((HIDDEN, KINDS)), ~ALL[:HIDDEN])
        assert choose_sample(outputs, ALL[:HIDDEN], oracle) is None


def test_a_png_of_any_size_is_read_back() -> None:
    pixels = np.arange(35, dtype=np.uint8).reshape(5, 7) * 7
    shown = matplotlib.image.imread(io.BytesIO(encode_png(pixels)), format="png") * 255
    assert np.array_equal(pixels, shown.round())


class TestFailures:
    """What explains outputs is no grade: where it fails, the grade is what it was."""

    def explained(self, error: Exception, monkeypatch: pytest.MonkeyPatch) -> bool:
        def fail(*_: object) -> None:
            raise error

        monkeypatch.setattr(explain, "diagnose", fail)
        case: Any = SimpleNamespace(evidence=SimpleNamespace(outputs=Problem(foreign("wrong"))))
        nothing: Any = None
        return explain.explain_case(case, nothing, nothing) is case

    def test_one_that_fails_changes_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        with pytest.warns(RuntimeWarning, match="A diagnosis failed"):
            assert self.explained(ZeroDivisionError(), monkeypatch)

    def test_without_a_runner_as_after_ctrl_c_nothing_goes_on(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with pytest.raises(SandboxError):
            self.explained(SandboxError(foreign("interrupted")), monkeypatch)
