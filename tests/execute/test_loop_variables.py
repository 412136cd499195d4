"""What belongs in place of a loop's variable is said in the student's language."""

from __future__ import annotations

import pytest

from grader.execute.loop_variables import advice_on_loop_variable
from grader.language import LANGUAGES, NOTHING

HAS_AXIS = 'In block "sum" of `product`, `j` is a loop\'s variable and not the axis `vj`.'
HAS_NONE = (
    'In block "sum" of `product`, `k` is a loop\'s variable and has no axis, which is'
    " `T.axis.reduce(8, k)`."
)


def test_the_axis_is_named_where_the_block_has_one() -> None:
    said = advice_on_loop_variable(HAS_AXIS)
    assert said.english.startswith("In block `sum` of `product`, write `vj` in place of `j`")


def test_the_axis_is_declared_where_the_block_has_none() -> None:
    said = advice_on_loop_variable(f"{HAS_NONE}\nProgram is not well-formed.")
    assert "declare `vk = T.axis.reduce(8, k)`, and write `vk` in place of `k`" in said.english


@pytest.mark.parametrize("message", [HAS_AXIS, HAS_NONE])
def test_it_is_said_in_every_language(message: str) -> None:
    said = {advice_on_loop_variable(message).in_(language) for language in LANGUAGES}
    assert len(LANGUAGES) == len(said)


@pytest.mark.parametrize(
    "message",
    [
        "",
        "Program is not well-formed.",
        HAS_AXIS.replace("`vj`", "`v\nj`"),
        HAS_AXIS.replace('"sum"', '"' + "s" * 1000 + '"'),
        HAS_NONE.replace("reduce(8, k)", "reduce(8, `rm`)"),
        'In block "' * 20_000,
    ],
    ids=["nothing", "another error", "two lines", "a long name", "a quote", "many beginnings"],
)
def test_of_any_other_text_nothing_is_said(message: str) -> None:
    assert NOTHING == advice_on_loop_variable(message)
