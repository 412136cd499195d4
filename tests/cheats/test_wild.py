"""No wild access is proven to be none, and what a guard might not see is refused."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest
import tvm
from tvm.script import tirx as T  # noqa: N812

from grader.ir.facts import FunctionFacts
from grader.ir.read import read_module
from tests.cheats.fixtures import all_cheats, shared_cell

REASONS = {
    "wild_alignment": "annotation",
    "wild_argument_block": "index",
    "wild_caller_arguments": "index",
    "wild_cast": "overflow",
    "wild_division": "division",
    "wild_fma": "conversion",
    "wild_heap_metadata": "index",
    "wild_neighbour": "index",
    "wild_offset": "layout",
    "wild_overflow": "overflow",
    "wild_part": "part",
    "wild_region": "annotation",
    "wild_return_address": "index",
    "wild_shift": "conversion",
    "wild_size": "large",
    "wild_strides": "layout",
    "wild_zeros": "conversion",
}
UNGUARDED = frozenset({"annotation", "large", "layout"})
DECIDING = frozenset({"wild_caller_arguments"})
LEFT_OUT = ("left_out_by_a_power", "left_out_by_a_product", "left_out_by_nan")
CELLS = {each.name: each.own_cells[0] for each in all_cheats() if each.group == "clock"}


def facts(statements: str) -> FunctionFacts:
    """Return what is read of the function that a cheat installs with some statements."""
    names: dict[str, Any] = {}
    exec(shared_cell("e2e-conv", "b_wild").read_text(), names)
    body = textwrap.indent(textwrap.dedent(statements), "    ")
    text = names["BEFORE"] + body + names["AFTER"]
    function = tvm.script.from_source(text, extra_vars={"T": T})
    module = tvm.IRModule({"f": function.with_attr("global_symbol", "f")})
    return read_module(tvm.ir.save_json(module).encode()).functions["f"]


@pytest.mark.parametrize("name", REASONS)
def test_a_wild_function_is_not_proven(name: str) -> None:
    found = facts(CELLS[name].split('"""')[1])
    assert found.unproven is not None
    assert REASONS[name] == found.unproven.code.partition("-")[2]
    assert (REASONS[name] in UNGUARDED) is (found.unguarded is not None)
    assert (name in DECIDING) is bool(found.decisions)


@pytest.mark.parametrize("name", LEFT_OUT)
def test_what_llvm_would_leave_out_is_a_decision(name: str) -> None:
    found = facts(CELLS[name].split('"""')[1])
    assert found.unproven is None
    assert "x" == found.decisions[0].subject


def test_the_same_function_without_it_is_proven() -> None:
    assert facts("pass").unproven is None
