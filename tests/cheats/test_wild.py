"""What a guard might not see is refused before it runs."""

from __future__ import annotations

from typing import Any

import pytest
import tvm
from tvm.script import tirx as T  # noqa: N812

from grader.ir.facts import FunctionFacts
from grader.ir.read import read_module
from tests.cheats.fixtures import all_cheats, shared_cell

REFUSED = {
    "wild_alignment": "annotation",
    "wild_offset": "layout",
    "wild_size": "large",
    "wild_strides": "layout",
}
"""What no guard sees, and why it is not even run."""

GUARDED = (
    "wild_argument_block",
    "wild_caller_arguments",
    "wild_cast",
    "wild_division",
    "wild_fma",
    "wild_heap_metadata",
    "wild_neighbour",
    "wild_overflow",
    "wild_part",
    "wild_region",
    "wild_return_address",
    "wild_shift",
    "wild_shifted",
    "wild_zeros",
)

LEFT_OUT = ("left_out_by_a_power", "left_out_by_a_product", "left_out_by_nan")
CELLS = {each.name: each.own_cells[0] for each in all_cheats() if each.group == "clock"}


def facts(statements: str) -> FunctionFacts:
    """Return what is read of the function that a cheat installs with some statements."""
    names: dict[str, Any] = {}
    exec(shared_cell("e2e-conv", "b_wild").read_text(), names)
    text = names["BEFORE"] + names["body_of"](statements) + names["AFTER"]
    function = tvm.script.from_source(text, extra_vars={"T": T})
    module = tvm.IRModule({"f": function.with_attr("global_symbol", "f")})
    return read_module(tvm.ir.save_json(module).encode()).functions["f"]


@pytest.mark.parametrize("name", [*REFUSED, *GUARDED])
def test_what_a_guard_might_not_see_is_refused(name: str) -> None:
    found = facts(CELLS[name].split('"""')[1]).unguarded
    assert REFUSED.get(name, "") == ("" if found is None else found.code.partition("-")[2])


@pytest.mark.parametrize("name", LEFT_OUT)
def test_what_llvm_would_leave_out_is_a_decision(name: str) -> None:
    found = facts(CELLS[name].split('"""')[1])
    assert "x" == found.decisions[0].subject


def test_the_same_function_without_it_may_be_timed() -> None:
    found = facts("pass")
    assert (None, ()) == (found.unguarded, found.decisions)
