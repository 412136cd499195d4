"""What a student reads of a task that a runner could not do."""

from __future__ import annotations

import re

import numpy as np
import pytest

from grader.assignment import ArgumentTable, Computation, TensorTable
from grader.evidence.case import Outputs
from grader.evidence.problems import (
    WRITE_THE_OUTPUT,
    explain,
    explain_failure,
    explain_python_failure,
    told_by,
    wrong_samples,
)
from grader.language import foreign, join
from grader.messages.frames import number_type
from grader.messages.kernel import PYTHON_FUNCTION, Capture
from grader.messages.runner import EXTERN_DIED, TaskFailure, Violation
from grader.messages.runner import ViolationKind as Kind
from tests.evidence.factory import outputs
from tests.render.diagnoses import DIAGNOSIS


def explained(kind: Kind, value: int = 0, size: int = 0) -> str:
    violation = Violation(kind, "conv2d", "pad_temp", value, size)
    problem = explain_failure(TaskFailure("run", "OutOfBounds", "", violation))
    assert "extents of its buffer" in problem.hint.english
    return problem.reason.english


class TestViolation:
    def test_an_index_is_told_with_its_buffer_and_what_that_has(self) -> None:
        assert (
            "The function `conv2d` accesses item 3136 of the buffer `pad_temp`, which has "
            "only the items 0 to 3135."
        ) == explained("index", 3136, 3136)

    def test_a_buffer_of_unknown_size_is_told_without_it(self) -> None:
        assert "item -1 of the buffer `pad_temp`, which does not exist" in explained("index", -1)

    def test_of_a_buffer_of_any_size_the_loop_goes_up_to_its_shape(self) -> None:
        """A batch of 8 that is written as a number ends too late for a batch of one."""
        violation = Violation("index", "dense", "x", 24, 0)
        assert (
            "up to its shape"
            in explain_failure(TaskFailure("run", "OutOfBounds", "", violation)).hint.english
        )
        known = Violation("index", "dense", "x", 24, 24)
        assert (
            "up to its shape"
            not in explain_failure(TaskFailure("run", "OutOfBounds", "", known)).hint.english
        )

    @pytest.mark.parametrize(
        ("kind", "words"),
        [
            ("overflow", "overflows its type"),
            ("division", "divides an integer by zero"),
            ("conversion", "casts NaN or an out-of-range float to an integer"),
            ("allocation", "an impossible size of the buffer `pad_temp`"),
            ("assumption", "has a T.assume that is false"),
            ("unguarded", "is not proven to stay inside its buffers"),
        ],
    )
    def test_everything_else_has_a_sentence_of_its_own(self, kind: Kind, words: str) -> None:
        reason = explained(kind)
        assert "`conv2d`" in reason
        assert words in reason

    def test_names_are_cut_and_printable(self) -> None:
        violation = Violation("index", "f" * 200, "`\x1b[31m" * 20, 1, 1)
        reason = explain_failure(TaskFailure("run", "OutOfBounds", "", violation)).reason
        assert "\x1b" not in reason.english
        assert len(reason.english) < 300


@pytest.mark.parametrize("message", ["no", "no.", "no!", "不行。", "no.\n"])
def test_what_others_say_ends_once(message: str) -> None:
    told = told_by(TaskFailure("run", "ValueError", message)).english
    assert told.endswith((": no.", ": no!", ": 不行。"))


# --- python_failure -------------------------------------------------------------------------------
# What is said of a Python function that gave no result names that function.


CAPTURE = Capture("low", "lnumpy_mlp", 4, True, b"", externs={PYTHON_FUNCTION: b""})


@pytest.mark.parametrize(
    ("error", "message", "told"),
    [
        (
            "NotImplementedError",
            "",
            "lnumpy_mlp (code cell 4), or a function that it calls, is not solved yet.",
        ),
        (
            "NotImplementedError",
            "TODO: Part 1",
            "lnumpy_mlp (code cell 4), or a function that it calls, is not solved yet.",
        ),
        # the student's own, of a case that was left out
        ("NotImplementedError", "cannot import add", "raised NotImplementedError: cannot import"),
        ("IndexError", "index 5: out", "lnumpy_mlp raised IndexError: index 5: out"),
        (EXTERN_DIED, "the extern's process ended", "lnumpy_mlp ended the process"),
    ],
)
def test_it_is_named(error: str, message: str, told: str) -> None:
    raised = None if error == EXTERN_DIED else message
    text = f"{PYTHON_FUNCTION} raised {error}: {message}"
    failure = TaskFailure("run", "Raised", text, raised=raised, error=error)
    if error == EXTERN_DIED:
        failure = TaskFailure("run", error, text)
    problem = explain_python_failure(failure, CAPTURE, foreign("x"))
    assert told in problem.reason.english
    assert PYTHON_FUNCTION not in problem.reason.english + problem.hint.english


def test_the_arguments_are_told_in_their_order() -> None:
    """Whoever took the weights first was told to call it on arrays of the required shapes."""
    failure = TaskFailure("run", "Raised", "", raised="too many indices", error="IndexError")
    problem = explain_python_failure(failure, CAPTURE, foreign("x (1, 784), w0 (128, 784)"))
    assert "called with x (1, 784), w0 (128, 784)" in problem.hint.english


def test_what_is_not_its_fault_is_told_as_of_a_module() -> None:
    failure = TaskFailure("run", "TimeLimit", "It ran too long.")
    assert "time limit" in explain_python_failure(failure, CAPTURE, foreign("x")).reason.english


@pytest.mark.parametrize("name", [EXTERN_DIED, "Died", "TimeLimit"])
def test_an_error_of_its_own_with_a_name_of_ours_is_its_own(name: str) -> None:
    text = f"{PYTHON_FUNCTION} raised {name}: no"
    failure = TaskFailure("run", "Raised", text, raised="no", error=name)
    problem = explain_python_failure(failure, CAPTURE, foreign("x"))
    assert (f"lnumpy_mlp raised {name}: no", "raised") == (problem.reason.english, problem.code)


# --- mismatch -------------------------------------------------------------------------------------
# What outputs that differ are told, as far as the numbers or a diagnosis show it.


FUNCTION = Computation("f", (ArgumentTable((8, 4)),), (TensorTable((8, 4)),))
VALUES = np.random.default_rng(0).standard_normal((6, 8, 4)).astype(np.float32)
EDGE_MISSING = np.where(np.arange(4) == 3, 0, VALUES + 10).astype(np.float32)
FEW_RIGHT = np.where(np.arange(32).reshape(8, 4) == 3, VALUES + 10, 0).astype(np.float32)
NEARLY_RIGHT = (VALUES + 10 + 0.008 * (np.arange(32).reshape(8, 4) == 3)).astype(np.float32)
"""One number of each sample is off by less than a thousandth."""
ONE_RIGHT = VALUES + np.where(np.arange(192).reshape(VALUES.shape) > 0, 30, 10).astype(np.float32)
ALL = np.ones(6, bool)


def one_nan() -> np.ndarray:
    values = VALUES.copy()
    values[2, 1, 1] = np.nan
    return values


class TestWrongSamples:
    """Which samples are outside of the tolerance."""

    def test_those_that_differ_are_marked(self) -> None:
        actual = VALUES.copy()
        actual[1, 3, 2] += 1e-3
        found = wrong_samples(outputs(actual, VALUES.astype(float)), FUNCTION)
        assert [1] == np.flatnonzero(found).tolist()

    def test_what_is_not_finite_is_wrong_even_if_the_answer_is(self) -> None:
        desired = VALUES.astype(float)
        desired[4, 0, 0] = np.inf
        actual = desired.astype(np.float32)
        actual[2, 0, 0] = np.nan
        assert [2, 4] == np.flatnonzero(wrong_samples(outputs(actual, desired), FUNCTION)).tolist()

    @pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int32", "int64"])
    def test_integers_are_right_or_wrong(self, dtype: str) -> None:
        exact = Computation("f", (ArgumentTable((2,)),), (TensorTable((2,), dtype),), cases=3)
        largest = 2**62 if dtype == "int64" else exact.outputs[0].widest[1]
        desired = np.array([[largest, 0], [largest, 1], [0, 0]], np.int64)
        actual = desired.copy()
        actual[1, 0] -= 1  # of 2**62 float64 does not have it
        found = wrong_samples(outputs(actual.astype(dtype), desired), exact)
        assert [False, True, False] == found.tolist()

    @pytest.mark.parametrize(("dtype", "off"), [("float16", 0.02), ("bfloat16", 0.1)])
    def test_each_type_has_a_tolerance_of_its_own(self, dtype: str, off: float) -> None:
        rounded = Computation("f", (ArgumentTable((1,)),), (TensorTable((1,), dtype),), cases=4)
        desired = np.array([[1.1], [1.1], [1.1], [1.1]])
        errors = np.array([[0], [off / 4], [off], [np.nan]])
        actual = (desired + errors).astype(number_type(dtype))
        found = wrong_samples(outputs(actual, desired), rounded)
        assert [False, False, True, True] == found.tolist()

    @pytest.mark.parametrize("actual", [VALUES[:, :4], VALUES.astype(np.float64)])
    def test_all_are_where_shape_or_dtype_are_other_ones(self, actual: np.ndarray) -> None:
        assert wrong_samples(outputs(actual, VALUES), FUNCTION).all()


class TestWithoutADiagnosis:
    """The outputs alone speak."""

    @pytest.mark.parametrize(
        ("actual", "seen", "told"),
        [
            (np.zeros_like(VALUES), "6 of 6 samples differ", "the same everywhere"),
            (EDGE_MISSING, "6 of 6 samples differ", "75% of the elements"),
            (NEARLY_RIGHT, "6 of 6 samples differ", "96% of the elements"),
            (VALUES + 30, "6 of 6 samples differ", "No element of these samples is right"),
            (ONE_RIGHT, "6 of 6 samples differ", "Few elements of these samples are right"),
            (FEW_RIGHT, "6 of 6 samples differ", "Few elements of these samples are right"),
            (VALUES[:, :, :1], "shape (8, 1); it should be (8, 4)", "Check the last steps"),
            (VALUES.astype(np.float64), "dtype is float64", 'Use "float32"'),
            (one_nan(), "NaN or infinite for 17%", "read before it is written"),
        ],
    )
    def test_each_way_to_differ_has_a_reason_and_a_step(
        self, actual: np.ndarray, seen: str, told: str
    ) -> None:
        problem = explain(outputs(actual, VALUES + 10.0), ALL, FUNCTION, None)
        assert (True, True) == (seen in problem.reason.english, told in problem.hint.english)

    def test_no_step_names_loops_or_sums_that_may_not_be_there(self) -> None:
        """Most numbers of a leaky ReLU, or of a clamp to another range, are right."""
        problem = explain(outputs(EDGE_MISSING, VALUES + 10.0), ALL, FUNCTION, None)
        assert not re.search(r"loop|sum|edge", problem.hint.english)

    def test_a_function_that_wrote_nothing_is_named(self) -> None:
        problem = explain(outputs(one_nan(), VALUES, ("env.f",)), ALL, FUNCTION, None)
        assert "`env.f` never wrote to its output buffer." in problem.reason.english
        assert WRITE_THE_OUTPUT == problem.hint


class TestWithADiagnosis:
    """It takes the place of what can be guessed from the outputs."""

    @pytest.mark.parametrize("unwritten", [(), ("env.f",)])
    def test_the_reason_begins_with_the_message_and_keeps_what_is_seen(
        self, unwritten: tuple[str, ...]
    ) -> None:
        made: Outputs = outputs(EDGE_MISSING, VALUES + 10.0, unwritten)
        problem = explain(made, ALL, FUNCTION, DIAGNOSIS)
        seen = explain(outputs(EDGE_MISSING, VALUES + 10.0), ALL, FUNCTION, None).reason
        assert join(DIAGNOSIS.message, seen) == problem.reason
        assert DIAGNOSIS.advice == problem.hint
