"""Steps that change blocks, on functions that TVM has scheduled, and what only looks like them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import tvm
from tvm import te
from tvm.script import tirx as T  # noqa: N812

from grader.evidence.stages import find_stages
from grader.ir.facts import FunctionFacts
from grader.ir.read import read_module
from tests.ir.modules import save


def product() -> Any:
    """Return a product with ReLU behind it: two blocks, C and D."""
    a, b = te.placeholder((32, 64), name="A"), te.placeholder((64, 48), name="B")
    k = te.reduce_axis((0, 64), name="k")
    c = te.compute((32, 48), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    d = te.compute((32, 48), lambda i, j: te.max(c[i, j], te.const(0, "float32")), name="D")
    return te.create_prim_func([a, b, d]).with_attr("global_symbol", "main")


def facts(schedule: Any) -> FunctionFacts:
    return read_module(save(schedule.mod)).functions["main"]


def done(*steps: Callable[[Any], None]) -> set[str]:
    """Return what is seen after steps, in the order of the alphabet."""
    schedule = tvm.s_tir.Schedule(product())
    base = facts(schedule)
    for step in steps:
        step(schedule)
    return set(find_stages(facts(schedule), base, ()))


def split(schedule: Any) -> None:
    block = schedule.get_sblock("C")
    i, j, k = schedule.get_loops(block)
    outer, inner = schedule.split(j, [None, 16])
    schedule.reorder(outer, i, k, inner)
    schedule.vectorize(inner)
    schedule.decompose_reduction(block, k)


def rfactor(schedule: Any) -> None:
    *_, k = schedule.get_loops(schedule.get_sblock("C"))
    _, inner = schedule.split(k, [None, 4])
    schedule.rfactor(inner, 0)


def cache_read(schedule: Any) -> None:
    schedule.cache_read(schedule.get_sblock("C"), 1, "global")


def cache_write(schedule: Any) -> None:
    schedule.cache_write(schedule.get_sblock("C"), 0, "global")


def cache_in_place(schedule: Any) -> None:
    block = schedule.get_sblock("C")
    cache = schedule.cache_write(block, 0, "global")
    _, j, _ = schedule.get_loops(block)
    schedule.reverse_compute_at(cache, j)


def compute_at(schedule: Any) -> None:
    i, _ = schedule.get_loops(schedule.get_sblock("D"))
    schedule.compute_at(schedule.get_sblock("C"), i)


def reverse_compute_at(schedule: Any) -> None:
    i, *_ = schedule.get_loops(schedule.get_sblock("C"))
    schedule.reverse_compute_at(schedule.get_sblock("D"), i)


@pytest.mark.parametrize(
    ("step", "name"),
    [
        (rfactor, "rfactor"),
        (cache_read, "cache_read"),
        (cache_write, "cache_write"),
        (compute_at, "compute_at"),
        (reverse_compute_at, "compute_at"),
    ],
)
def test_a_step_is_seen_and_no_other(step: Callable[[Any], None], name: str) -> None:
    assert {name} == done(step)


def test_steps_of_loops_are_none_of_blocks() -> None:
    assert set() == done(split)


def test_several_are_seen_together() -> None:
    assert {"cache_read", "cache_write", "compute_at"} == done(cache_read, cache_in_place)


def test_what_was_there_from_the_beginning_is_no_step() -> None:
    schedule = tvm.s_tir.Schedule(product())
    cache_read(schedule)
    assert frozenset() == find_stages(facts(schedule), facts(schedule), ())


def test_a_copy_of_what_the_sum_does_not_load_is_no_cache() -> None:
    def elsewhere(schedule: Any) -> None:
        schedule.cache_write(schedule.get_sblock("D"), 0, "global")

    assert set() == done(elsewhere)


@T.prim_func(s_tir=True)
def decoy(
    a: T.Buffer((32, 64), "float32"),
    b: T.Buffer((64, 48), "float32"),
    c: T.Buffer((32, 48), "float32"),
):
    shown = T.sblock_alloc_buffer((32, 48), "float32")
    for i in range(32):
        for j, k in T.grid(48, 64):
            with T.sblock("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    c[vi, vj] = T.float32(0)
                c[vi, vj] += a[vi, vk] * b[vk, vj]
        with T.sblock("shown"):
            vi = T.axis.spatial(32, i)
            shown[vi, 0] = c[vi, 0]


def test_a_block_that_takes_a_few_items_for_show_is_none() -> None:
    found = read_module(save(tvm.IRModule({"main": decoy}))).functions["main"]
    assert frozenset() == find_stages(found, None, ())
