"""Cheats that are timed do what they say: the compiler leaves none of it out.

Ten of them kept numbers in memory that nothing read, and were a plain convolution to the clock.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

import numpy as np
import pytest
import tvm
from tvm import relax, topi
from tvm.script import tirx as T  # noqa: N812 - TVM's own name for it

from grader.inside.common.allocations import PIPELINE
from grader.inside.common.machine import find_target
from grader.inside.common.timed import as_timed
from tests.cheats.fixtures import Cheat, all_cheats, shared_cell

WILD = "b_wild"
ALIVE = [
    cheat
    for cheat in all_cheats()
    if WILD in cheat.description.cells and cheat.is_timed and not cheat.name.startswith("wild_")
]

_BUFFER = re.compile(r'alloc_buffer\(\(([\d, ]+?),?\), "[a-z]+(\d+)"\)')
_NUMBER = re.compile(r"i64 (\d+)")

ON_STACK = 1024
"""A smaller buffer lies on the stack, where LLVM may make numbers of it."""


def model() -> tvm.IRModule:
    """Return a model of one convolution, as the cheats' cells make it."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((4, 1, 28, 28), "float32"))
    weight = relax.const(np.ones((32, 1, 3, 3), "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            made = builder.emit_te(topi.nn.conv2d, x, weight, 1, 0, 1)
            output = builder.emit_output(made)
        builder.emit_func_output(output)
    return builder.get()


def llvm(shared: Iterable[str], *cells: str) -> str:
    """Return the program that is timed, as LLVM has it, of a cheat's cells."""
    names = {"T": T, "tvm": tvm, "create_model_via_emit_te": model}
    for cell in (*(shared_cell("e2e-conv", name).read_text("utf-8") for name in shared), *cells):
        exec(cell, names)
    function = as_timed(names["sch"].mod["conv2d"], 1).with_attr("global_symbol", "main")
    target, _ = find_target("host")
    built = tvm.compile(tvm.IRModule({"main": function}), target, tir_pipeline=PIPELINE)
    return str(built.mod.inspect_source("ll"))


@pytest.mark.parametrize("cheat", ALIVE, ids=lambda cheat: cheat.name)
def test_nothing_of_it_is_left_out(cheat: Cheat) -> None:
    shared = [name for name in cheat.description.cells if name in (WILD, "b_uneven")]
    found = llvm(shared, *cheat.own_cells)
    sizes = set(map(int, _NUMBER.findall(found)))
    for extents, bits in _BUFFER.findall("\n".join(cheat.own_cells)):
        size = math.prod(map(int, extents.split(","))) * int(bits) // 8
        assert size < ON_STACK or size in sizes
    assert len(found) > len(llvm([WILD], 'sch = install("")')) + 500
