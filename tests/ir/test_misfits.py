"""Of calls that do not fit their functions, what would make them fit is found."""

from __future__ import annotations

import time

import pytest
from msgspec.structs import replace

from grader.ir.facts import Argument, Call, ModuleFacts, TensorFacts
from grader.ir.misfits import MOST, find_misfits
from grader.ir.read import read_module
from tests.ir.misfitting import FIRST, SECOND, unchecked


def found(first: str = FIRST, second: str = SECOND, inputs: str = "") -> list[tuple[str, ...]]:
    """Return of each misfit its kind, binding, parameter, argument and what else is named."""
    misfits = find_misfits(read_module(unchecked(first, second, inputs)))
    assert misfits is not None
    return [
        (
            each.kind,
            each.binding,
            each.parameter.name if each.parameter else "",
            each.argument.name if each.argument else "",
            each.other,
        )
        for each in misfits
    ]


def test_calls_that_fit_are_none() -> None:
    assert [] == found()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("x, b0, w0", ("exchanged", "lv", "W", "b0", "w0")),
        ("w0, x, b0", ("exchanged", "lv", "X", "w0", "x")),
        ("w0, b0, x", ("order", "lv", "", "", "x, w0, b0")),
        ("x, w0", ("missing", "lv", "B", "", "b0")),
        ("w0, b0", ("missing", "lv", "X", "", "x")),
        ("x", ("missing", "lv", "", "", "")),
        ("x, w0, b0, b1", ("extra", "lv", "", "b1", "")),
        ("x, w0, b0, b0", ("extra", "lv", "", "", "")),
        ("x, w1, b0", ("argument", "lv", "W", "w1", "w0")),
        ("x, w0, b1", ("argument", "lv", "B", "b1", "b0")),
    ],
)
def test_the_least_change_that_makes_it_fit_is_named(arguments: str, told: tuple[str, ...]) -> None:
    assert [told] == found(FIRST.replace("x, w0, b0", arguments))


def test_an_output_of_another_shape_or_type_is_no_fault_of_what_reads_it() -> None:
    assert [("output", "lv", "Z", "lv", "")] == found(FIRST.replace("(1, 3)", "(3, 1)"))
    assert [("output", "lv", "Z", "lv", "")] == found(FIRST.replace("float32", "float64"))


def test_functions_called_one_for_the_other_are_named_once_each() -> None:
    exchanged = FIRST.replace("first", "second"), SECOND.replace("second", "first")
    assert [("callee", "lv", "", "", "first"), ("callee", "out", "", "", "second")] == found(
        *exchanged
    )


def test_two_faults_are_two() -> None:
    wrong = FIRST.replace("w0, b0", "b0, w0"), SECOND.replace("(1, 2)", "(2, 1)")
    assert ["exchanged", "output"] == [each[0] for each in found(*wrong)]


def test_of_several_values_that_fit_none_is_named() -> None:
    given = (
        'x: R.Tensor((1, 4), "float32"), w0: R.Tensor((4, 3), "float32"),'
        ' b0: R.Tensor((3,), "float32"), w1: R.Tensor((2, 3), "float32"),'
        ' b1: R.Tensor((2,), "float32"), p: R.Tensor((3, 4), "float32"),'
        ' q: R.Tensor((3, 4), "float32")'
    )
    assert [("argument", "lv", "W", "w0", "")] == found(inputs=given)


def test_nothing_is_said_where_a_call_of_several_outputs_was_not_looked_at() -> None:
    several = FIRST.replace('R.Tensor((1, 3), "float32")', '[R.Tensor((1, 3), "float32")] * 2')
    second = SECOND.replace("lv", "lv[0]")
    assert find_misfits(read_module(unchecked(several, second))) is None
    facts = read_module(unchecked(FIRST.replace(", b0", ", b0, b1")))
    in_place = tuple(replace(each, is_in_place=True) for each in facts.calls)
    assert find_misfits(replace(facts, calls=in_place)) is None


def test_a_main_of_thousands_of_calls_is_looked_through_in_no_time() -> None:
    facts = read_module(unchecked(FIRST.replace("x, w0, b0", "b0, x, w0")))
    wide = Argument("input", "w0", TensorFacts((3, 4), "float32"))
    call = facts.calls[0]
    many = [Call(call.kind, call.callee, (wide,) * 3000, call.result, "lv")] * 3000
    made = ModuleFacts(True, facts.inputs, None, tuple(many), facts.functions, (), ())
    start = time.process_time()
    misfits = find_misfits(made)
    assert misfits is not None and MOST == len(misfits)
    assert 1 > time.process_time() - start
