"""What belongs instead of a loop's variable is said in the student's language."""

from __future__ import annotations

import msgspec
import pytest

from grader.execute.advice import advice_on_loop_variable
from grader.language import LANGUAGES, NOTHING
from grader.messages.kernel import KernelNote, LoopVariable

HAS_AXIS = LoopVariable("sum", "product", "j", axis="vj")
HAS_NONE = LoopVariable("sum", "product", "k", kind="reduce", extent="8")


def test_the_axis_is_named_where_the_block_has_one() -> None:
    said = advice_on_loop_variable(HAS_AXIS)
    assert said.english.startswith("In block `sum` of `product`, write `vj` instead of `j`")


def test_the_axis_is_declared_where_the_block_has_none() -> None:
    said = advice_on_loop_variable(HAS_NONE)
    assert "declare `vk = T.axis.reduce(8, k)`, and write `vk` instead of `k`" in said.english


def test_all_that_were_found_are_told() -> None:
    said = advice_on_loop_variable(msgspec.structs.replace(HAS_AXIS, others=(HAS_NONE,))).english
    assert "write `vj` instead of `j`" in said
    assert "declare `vk = T.axis.reduce(8, k)`" in said


@pytest.mark.parametrize("found", [HAS_AXIS, HAS_NONE])
def test_it_is_said_in_every_language(found: LoopVariable) -> None:
    said = {advice_on_loop_variable(found).in_(language) for language in LANGUAGES}
    assert len(LANGUAGES) == len(said)


def test_of_nothing_nothing_is_said() -> None:
    assert NOTHING == advice_on_loop_variable(None)


def test_what_steers_a_terminal_or_ends_a_quote_is_left_out() -> None:
    forged = LoopVariable("\x1b[2J`s`", "f\n", "i", axis="`v\u202e")
    said = advice_on_loop_variable(forged).english
    assert said.isprintable()
    assert said.startswith("In block `[2Js` of `f`, write `v` instead of `i`")


@pytest.mark.parametrize(
    "change",
    [
        {"block": "s" * 81},
        {"name": "n" * 41},
        {"extent": "8" * 61},
        {"kind": "other"},
        {"axis": None},
        {"sentence": "Buy."},
    ],
)
def test_what_is_longer_or_something_else_is_no_message(change: dict[str, object]) -> None:
    fields = {**msgspec.to_builtins(HAS_NONE), **change}
    note = {"kind": "loop_variable", "cell": 1, "loop_variable": fields}
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"type": "KernelNote", **note}, KernelNote)
