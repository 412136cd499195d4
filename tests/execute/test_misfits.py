"""Of a module that TVM refuses without a place, the call is said, and what makes it fit."""

from __future__ import annotations

import socket

import pytest

from grader.assignment import PartTable
from grader.execute.captures import REFUSED_LIMIT, CaptureReader
from grader.execute.misfits import advice_on_refused
from grader.execute.result import Execution
from grader.grading.absence import explain_absence
from grader.ir import read
from grader.language import LANGUAGES, NOTHING
from grader.messages.frames import FrameError, decode_payload, encode_frame
from grader.messages.kernel import REFUSED_SIZE_LIMIT, CaptureFailure, KernelNote
from grader.sandbox.interface import Sandbox
from tests.execute.conftest import run_cells
from tests.ir.misfitting import FIRST, SECOND, saved, source, unchecked

PART = PartTable(id="model", title="", entry_kind="function", entry=("create_model",), check=())

SAID = [
    (
        FIRST.replace("w0, b0", "b0, w0"),
        "The call of `first` for `lv` passes `b0`, (3,), for `W`, (3, 4)."
        " Swap `b0` and `w0` in the call of `first`.",
    ),
    (
        FIRST.replace("x, w0, b0", "b0, x, w0"),
        "The arguments of `first` for `lv` are in the wrong order. Pass them as `x, w0, b0`.",
    ),
    (
        FIRST.replace("x, w0, b0", "x, w0"),
        "The call of `first` for `lv` passes 2 inputs; the function takes 3, before its output."
        " Pass `b0` for `B`, as argument 3 of the call.",
    ),
    (
        FIRST.replace("b0)", "b0, b1)"),
        "The call of `first` for `lv` passes 4 inputs; the function takes 3, before its output."
        " Leave out `b1` in the call of `first`.",
    ),
    (
        FIRST.replace("w0", "w1"),
        "The call of `first` for `lv` passes `w1`, (2, 3), for `W`, (3, 4)."
        " Pass `w0` for `W` in the call of `first`.",
    ),
    (
        FIRST.replace('(1, 3), "float32"', '(1, 3), "float64"'),
        "The call of `first` for `lv` declares an output of (1, 3) float64, but `first` writes `Z`"
        ' of (1, 3) float32. Declare `lv` as `R.Tensor((1, 3), "float32")` in the call, and also'
        " in its annotation if it has one.",
    ),
    (
        FIRST.replace("first", "second"),
        "The arguments and the output of the call of `second` for `lv` do not fit its parameters."
        " Call `first` instead: the arguments fit its parameters.",
    ),
]


@pytest.mark.parametrize(("first", "said"), SAID)
def test_the_call_is_named_and_what_makes_it_fit(first: str, said: str) -> None:
    assert said == advice_on_refused(unchecked(first)).english


def test_each_fault_is_said_with_what_to_do_about_it() -> None:
    wrong = FIRST.replace("w0, b0", "b0, w0"), SECOND.replace("w1, b1", "b1, w1")
    said = advice_on_refused(unchecked(*wrong)).english
    first, second = said.split("The call of `second`")
    assert "Swap `b0` and `w0`" in first
    assert "Swap `b1` and `w1`" in second


def test_of_values_of_another_type_it_is_said_how_to_cast_them() -> None:
    doubles = (
        'x: R.Tensor((1, 4), "float32"), w0: R.Tensor((3, 4), "float64"),'
        ' b0: R.Tensor((3,), "float64"), w1: R.Tensor((2, 3), "float32"),'
        ' b1: R.Tensor((2,), "float32")'
    )
    said = advice_on_refused(unchecked(inputs=doubles)).english
    for parameter in "WB":
        assert f"Pass float32 values for `{parameter}` in the call of `first` for `lv`" in said
    assert 'array.astype("float32")' in said


def test_what_an_earlier_call_gives_is_cast_by_nothing_of_numpy() -> None:
    """As int8 in a layer that takes int32: `main` has no arrays."""
    parameter = 'second(X: T.Buffer((1, 3), "{}")'
    odd = source().replace(parameter.format("float32"), parameter.format("int32"))
    said = advice_on_refused(saved(odd)).english
    assert "passes `lv`, (1, 3) float32, for `X`, (1, 3) int32" in said
    assert "NumPy" not in said
    assert "Compare the arguments of the call for `out`" in said


def test_what_is_to_be_done_is_said_once() -> None:
    odd = (
        'x: R.Tensor((1, 4), "float32"), w0: R.Tensor((9, 9), "float32"),'
        ' b0: R.Tensor((9,), "float32"), w1: R.Tensor((2, 3), "float32"),'
        ' b1: R.Tensor((2,), "float32")'
    )
    said = advice_on_refused(unchecked(inputs=odd)).english
    assert 1 == said.count("Compare the arguments of the call for `lv`")


def test_where_all_calls_fit_no_call_is_blamed() -> None:
    said = advice_on_refused(unchecked()).english
    assert "Every call of a TensorIR function in `main` fits" in said
    assert "differ" not in said


@pytest.mark.parametrize("first", [each for each, _ in SAID])
def test_it_is_said_in_every_language(first: str) -> None:
    advice = advice_on_refused(unchecked(first))
    assert len(LANGUAGES) == len({advice.in_(language) for language in LANGUAGES})


@pytest.mark.parametrize("document", [b"", b"{", b"[" * 100_000, b'{"root_index": 0}'])
def test_of_what_is_no_module_nothing_is_said(document: bytes) -> None:
    assert NOTHING == advice_on_refused(document)


def test_accesses_are_not_looked_through(monkeypatch: pytest.MonkeyPatch) -> None:
    """A notebook may send sixteen modules, of which each took the referee seconds."""
    for name in ("find_races", "find_out_of_bounds"):
        monkeypatch.setattr(read, name, pytest.fail)
    assert "Swap `b0` and `w0`" in advice_on_refused(unchecked(SWAPPED)).english


def test_what_is_larger_is_no_message() -> None:
    large = bytes(REFUSED_SIZE_LIMIT + 1)
    note = KernelNote("refused_module", 1, module=large)
    failure = CaptureFailure("part", "name", 1, "raised", refused=large)
    for message in (note, failure):
        with pytest.raises(FrameError):
            decode_payload(encode_frame(message)[8:], type(message))


def test_so_many_modules_of_a_notebook_are_looked_through_at_most() -> None:
    notes = [KernelNote("refused_module", cell, module=b"{}") for cell in range(40)]
    inner, outer = socket.socketpair()
    reader = CaptureReader(outer)
    with inner:
        inner.sendall(b"".join(map(encode_frame, notes)))
    reader.close()
    assert REFUSED_LIMIT == len(reader.refused)


IMPORTS = "from tvm.script import ir as I, relax as R, tirx as T"
SWAPPED = FIRST.replace("w0, b0", "b0, w0")


@pytest.fixture(scope="module")
def execution(sandbox: Sandbox) -> Execution:
    """A notebook with a module that is refused, a function that makes it, and other errors."""
    wrong = source(SWAPPED)
    indented = "\n".join(f"    {line}" for line in wrong.splitlines())
    return run_cells(
        sandbox,
        IMPORTS,
        wrong,
        "raise ValueError('Program is not well-formed')",
        f"def create_model():\n{indented}\n    return Module",
        source(),
    )


def test_a_cell_that_ends_in_a_refusal_is_told_what_to_do(execution: Execution) -> None:
    first, other = execution.problems
    assert (2, "refused_module") == (first.cell, first.code)
    assert "Swap `b0` and `w0` in the call of `first`." in first.hint.english
    assert "Swap" not in other.hint.english
    (lost, _) = execution.lost
    assert lost.advice == first.hint


def test_a_function_that_makes_one_sends_it_with_its_failure(execution: Execution) -> None:
    (failure,) = (each for each in execution.captures if isinstance(each, CaptureFailure))
    assert "Swap `b0` and `w0`" in advice_on_refused(failure.refused).english
    problem = explain_absence(PART, (failure,))
    assert "Swap `b0` and `w0`" in problem.hint.english
