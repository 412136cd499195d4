"""Steps that change blocks, on functions that TVM has scheduled, and what only looks like them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
import tvm
from tvm import te
from tvm.script import tirx as T  # noqa: N812

from grader.assignment import PartTable
from grader.errors import IRError
from grader.evidence.candidates import inspect
from grader.evidence.case import Problem
from grader.evidence.stages import find_stages
from grader.evidence.steps import find_steps
from grader.ir.facts import FunctionFacts
from grader.ir.read import read_module
from grader.ir.trace import read_trace
from grader.messages.kernel import Capture
from tests.ir.modules import save


def product(*, relu: bool = True) -> Any:
    """Return a product with ReLU behind it: two blocks, C and D."""
    a, b = te.placeholder((32, 64), name="A"), te.placeholder((64, 48), name="B")
    k = te.reduce_axis((0, 64), name="k")
    c = te.compute((32, 48), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    d = te.compute((32, 48), lambda i, j: te.max(c[i, j], te.const(0, "float32")), name="D")
    return te.create_prim_func([a, b, d if relu else c]).with_attr("global_symbol", "main")


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


def described(rows: int) -> tuple[Any, Any]:
    """Return what an intrinsic for some columns of a row computes, and how."""

    @T.prim_func(s_tir=True)
    def description(a: T.handle, b: T.handle, c: T.handle) -> None:
        x = T.match_buffer(a, (1,), "float32", offset_factor=1)
        y = T.match_buffer(b, (rows,), "float32", offset_factor=1)
        z = T.match_buffer(c, (rows,), "float32", offset_factor=1)
        with T.sblock("root"):
            T.reads(z[0:rows], x[0:1], y[0:rows])
            T.writes(z[0:rows])
            for j in range(rows):
                with T.sblock("term"):
                    vj = T.axis.spatial(rows, j)
                    z[vj] = z[vj] + x[0] * y[vj]

    @T.prim_func(s_tir=True)
    def in_loops(a: T.handle, b: T.handle, c: T.handle) -> None:
        x = T.match_buffer(a, (1,), "float32", offset_factor=1)
        y = T.match_buffer(b, (rows,), "float32", offset_factor=1)
        z = T.match_buffer(c, (rows,), "float32", offset_factor=1)
        with T.sblock("root"):
            T.reads(z[0:rows], x[0:1], y[0:rows])
            T.writes(z[0:rows])
            for j in range(rows):
                z[j] = z[j] + x[0] * y[j]

    return description, in_loops


@T.prim_func(s_tir=True)
def sixteen(a: T.handle, b: T.handle, c: T.handle) -> None:
    x = T.match_buffer(a, (1,), "float32", offset_factor=1)
    y = T.match_buffer(b, (16,), "float32", offset_factor=1)
    z = T.match_buffer(c, (16,), "float32", offset_factor=1)
    with T.sblock("root"):
        T.reads(z[0:16], x[0:1], y[0:16])
        T.writes(z[0:16])
        z[T.ramp(0, 1, 16)] += T.broadcast(x[0], 16) * y[T.ramp(0, 1, 16)]


def intrinsic(rows: int, body: Any = None) -> Callable[[Any], None]:
    """Return the steps that let an intrinsic do some columns of a row."""
    name = f"grader_test_{rows}_{body is None}"
    description, in_loops = described(rows)
    tvm.s_tir.TensorIntrin.register(name, description, body or in_loops, override=True)

    def tensorize(schedule: Any) -> None:
        block = schedule.get_sblock("C")
        i, j, k = schedule.get_loops(block)
        outer, inner = schedule.split(j, [None, rows])
        schedule.reorder(i, outer, k, inner)
        schedule.decompose_reduction(block, k)
        schedule.tensorize(inner, name)

    return tensorize


@pytest.mark.parametrize(
    ("steps", "seen"),
    [
        (intrinsic(16, sixteen), {"tensorize"}),
        (intrinsic(16), {"tensorize"}),
    ],
    ids=["in a vector", "in a loop"],
)
def test_an_intrinsic_is_seen_by_what_it_leaves_behind(
    steps: Callable[[Any], None], seen: set[str]
) -> None:
    assert seen == done(steps)


@T.prim_func(s_tir=True)
def parts_of_one(
    a: T.Buffer((32, 64), "float32"),
    b: T.Buffer((64, 48), "float32"),
    c: T.Buffer((32, 48), "float32"),
):
    for i, j, k in T.grid(32, 48, 64):
        with T.sblock("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            x = T.match_buffer(a[vi, vk], (1,), offset_factor=1)
            y = T.match_buffer(b[vk, vj], (1,), offset_factor=1)
            z = T.match_buffer(c[vi, vj], (1,), offset_factor=1)
            with T.init():
                z[0] = T.float32(0)
            z[0] = z[0] + x[0] * y[0]


def test_parts_of_one_item_are_no_intrinsic() -> None:
    found = read_module(save(tvm.IRModule({"main": parts_of_one}))).functions["main"]
    assert {"A", "B", "C"} == {each.upper() for each in found.blocks[0].parts}
    assert frozenset() == find_stages(found, None, ())


def test_the_loops_around_an_intrinsic_are_those_of_what_it_stores() -> None:
    schedule = tvm.s_tir.Schedule(product())
    base = facts(schedule)
    intrinsic(16, sixteen)(schedule)
    after = facts(schedule)
    assert {"decompose"} == find_steps(after, base, ())


def pipelined(*, moved: bool = True, stages: tuple[int, int] = (0, 1)) -> Callable[[Any], None]:
    """Return the steps that make a loop of the sum a software pipeline."""

    def pipeline(schedule: Any) -> None:
        block = schedule.get_sblock("C")
        i, j, k = schedule.get_loops(block)
        outer, inner = schedule.split(k, [None, 8])
        schedule.reorder(i, outer, j, inner)
        cache = schedule.cache_read(block, 1, "global")
        if moved:
            schedule.compute_at(cache, outer)
        schedule.decompose_reduction(block, outer)
        schedule.annotate(outer, "software_pipeline_stage", list(stages))
        schedule.annotate(outer, "software_pipeline_order", [0, 1])

    return pipeline


def test_a_pipeline_is_seen_where_one_stage_makes_what_another_uses() -> None:
    assert "pipeline" in done(pipelined())
    assert "pipeline" not in done(pipelined(moved=False))
    assert "pipeline" not in done(pipelined(stages=(0, 0)))


def test_a_pipeline_is_run_under_guard_and_no_trace_proves_it() -> None:
    schedule = tvm.s_tir.Schedule(product())
    pipelined()(schedule)
    read = read_module(save(schedule.mod))
    assert read.findings == ()
    assert read.functions["main"].unguarded is None
    with pytest.raises(IRError, match="software_pipeline_stage"):
        read_trace(json.dumps(schedule.trace.as_json(), default=int).encode())


def test_no_trace_with_an_intrinsic_is_replayed() -> None:
    schedule = tvm.s_tir.Schedule(product())
    intrinsic(16)(schedule)
    with pytest.raises(IRError, match="Tensorize"):
        read_trace(json.dumps(schedule.trace.as_json(), default=int).encode())


@pytest.mark.parametrize(
    ("stages", "order"),
    [([0, 1], [0, 2]), ([0, 1], [0]), ([0, -1], [0, 1]), ([0, 99], [0, 1]), ([0, 1], None)],
)
def test_a_pipeline_that_tvm_would_not_survive_is_refused(
    stages: list[int], order: list[int] | None
) -> None:
    schedule = tvm.s_tir.Schedule(product())
    loop = schedule.get_loops(schedule.get_sblock("C"))[0]
    schedule.annotate(loop, "software_pipeline_stage", stages)
    if order is not None:
        schedule.annotate(loop, "software_pipeline_order", order)
    document = save(schedule.mod)
    found = read_module(document).findings
    assert "software_pipeline_stage" in {each.subject for each in found}
    # Who has one of both was told that the annotation which the course asks for is not allowed.
    part = PartTable(id="p", title="P", entry_kind="module", entry=("f",), check=())
    problem = inspect(part, Capture("p", "f", 1, True, document))
    assert isinstance(problem, Problem)
    assert "not allowed" not in problem.reason.english
    assert "`software_pipeline_order`" in problem.hint.english


def vectors_behind(schedule: Any) -> None:
    *_, j = schedule.get_loops(schedule.get_sblock("D"))
    schedule.vectorize(schedule.split(j, [None, 16])[1])


def scattered_vectors_behind(schedule: Any) -> None:
    i, j = schedule.get_loops(schedule.get_sblock("D"))
    outer, inner = schedule.split(i, [None, 16])
    schedule.reorder(outer, j, inner)
    schedule.vectorize(inner)


@pytest.mark.parametrize(
    ("step", "seen"),
    [
        (vectors_behind, {"vectorize_epilogue"}),
        (scattered_vectors_behind, set()),
        (split, set()),
    ],
)
def test_vectors_behind_a_sum_are_seen_where_they_store_side_by_side(
    step: Callable[[Any], None], seen: set[str]
) -> None:
    assert seen == done(step)


def test_a_copy_out_of_a_cache_is_nothing_behind_a_sum() -> None:
    schedule = tvm.s_tir.Schedule(product(relu=False))
    cache = schedule.cache_write(schedule.get_sblock("C"), 0, "global")
    schedule.vectorize(schedule.get_loops(cache)[-1])
    assert {"cache_write"} == find_stages(facts(schedule), None, ())
