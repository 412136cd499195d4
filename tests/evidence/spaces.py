"""A small matrix product, spaces of schedules of it, and the captures that come of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import tvm
from tvm import te

from grader.assignment import ArgumentTable, Computation, TensorTable
from grader.evidence.oracle import Arrangement, Given
from grader.evidence.subject import Subject
from grader.language import foreign
from grader.messages.runner import TensorSpec

SHAPE = (16, 16)
COMPUTATION = Computation(
    "product",
    arguments=(ArgumentTable(SHAPE, name="a"), ArgumentTable(SHAPE, name="b")),
    outputs=(TensorTable(SHAPE),),
)
SUBJECT = Subject((), COMPUTATION)

Space = Callable[[Any], None]


@cache
def product() -> Any:
    """Return the product as it is written, in a function called `product`."""
    a, b = (te.placeholder(SHAPE, "float32", name=name) for name in "ab")
    k = te.reduce_axis((0, 16), name="k")
    c = te.compute(SHAPE, lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="c")
    return tvm.IRModule({"product": te.create_prim_func([a, b, c])})


def arrangement() -> Arrangement:
    values = np.random.default_rng(3).standard_normal((2, *SHAPE), dtype=np.float32)
    given = tuple(Given(foreign(name), values) for name in "ab")
    return Arrangement("product", given, 2, (TensorSpec("float32", SHAPE),))


def tiled(sch: Any) -> None:
    """Draw the tiles of rows and columns."""
    block = sch.get_sblock("c", func_name="product")
    i, j, k = sch.get_loops(block)
    i_0, i_1 = sch.split(i, sch.sample_perfect_tile(i, n=2, max_innermost_factor=8))
    j_0, j_1 = sch.split(j, sch.sample_perfect_tile(j, n=2, max_innermost_factor=16))
    sch.reorder(i_0, j_0, k, i_1, j_1)
    sch.vectorize(j_1)


def half_impossible(sch: Any) -> None:
    """Draw a number of tiles that is too small in every other case."""
    i, _, _ = sch.get_loops(sch.get_sblock("c", func_name="product"))
    sch.split(i, [sch.sample_categorical([2, 4], [0.5, 0.5], decision=1), 4])


def impossible(sch: Any) -> None:
    """Draw a number of which most make the split too small; the notebook happened to draw 4."""
    i, _, _ = sch.get_loops(sch.get_sblock("c", func_name="product"))
    sch.split(i, [sch.sample_categorical([4, 2], [0.0, 1.0], decision=0), 4])


def settled(sch: Any) -> None:
    """Draw nothing."""
    i, _, _ = sch.get_loops(sch.get_sblock("c", func_name="product"))
    sch.split(i, [4, 4])


def asking(sch: Any) -> None:
    """Leave to MetaSchedule's postprocessors what is parallel, and the sum's beginning."""
    tiled(sch)
    root = sch.get_sblock("root", func_name="product")
    sch.annotate(root, "meta_schedule.parallel", 16)
