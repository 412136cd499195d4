"""A batched matrix product with ReLU as a module of one PrimFunc, and schedules of it."""
# ruff: noqa: N803, N806 - matrices have capital letters

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import tvm
from tvm import s_tir, te
from tvm.script import ir as I  # noqa: N812
from tvm.script import tirx as T  # noqa: N812

from grader.assignment import ArgumentTable, Computation, TensorTable
from grader.evidence.case import Candidate
from grader.evidence.subject import Subject
from grader.ir.facts import FunctionFacts
from grader.ir.read import read_module
from tests.evidence import schedules
from tests.ir import modules

WORKLOAD = (Path(__file__).parents[2] / "assignments/tensorir/workload.py").read_text()
SHAPE = (16, 128, 128)
COMPUTATION = Computation(
    "bmm_relu",
    arguments=(ArgumentTable(SHAPE, name="A"), ArgumentTable(SHAPE, name="B")),
    outputs=(TensorTable(SHAPE),),
)
SUBJECT = Subject((), COMPUTATION)

Steps = Callable[[Any], None]


@I.ir_module
class Written:
    """As a student writes it in TensorIR."""

    @T.prim_func(s_tir=True)
    def bmm_relu(
        A: T.Buffer((16, 128, 128), "float32"),  # noqa: N805
        B: T.Buffer((16, 128, 128), "float32"),
        C: T.Buffer((16, 128, 128), "float32"),
    ):
        T.func_attr({"tirx.noalias": True})
        Y = T.sblock_alloc_buffer((16, 128, 128), "float32")
        for n, i, j, k in T.grid(16, 128, 128, 128):
            with T.sblock("Y"):
                vn, vi, vj, vk = T.axis.remap("SSSR", [n, i, j, k])
                with T.init():
                    Y[vn, vi, vj] = T.float32(0)
                Y[vn, vi, vj] = Y[vn, vi, vj] + A[vn, vi, vk] * B[vn, vk, vj]
        for n, i, j in T.grid(16, 128, 128):
            with T.sblock("C"):
                vn, vi, vj = T.axis.remap("SSS", [n, i, j])
                C[vn, vi, vj] = T.max(Y[vn, vi, vj], T.float32(0))


def relu_in_every_round() -> Any:
    """Return the module with one block, which stores the ReLU of its sum beside it."""

    @I.ir_module
    class InOneBlock:
        @T.prim_func(s_tir=True)
        def bmm_relu(
            A: T.Buffer((16, 128, 128), "float32"),  # noqa: N805
            B: T.Buffer((16, 128, 128), "float32"),
            C: T.Buffer((16, 128, 128), "float32"),
        ):
            T.func_attr({"tirx.noalias": True})
            Y = T.sblock_alloc_buffer((16, 128, 128), "float32")
            for n, i, j, k in T.grid(16, 128, 128, 128):
                with T.sblock("Y"):
                    vn, vi, vj, vk = T.axis.remap("SSSR", [n, i, j, k])
                    with T.init():
                        Y[vn, vi, vj] = T.float32(0)
                    Y[vn, vi, vj] = Y[vn, vi, vj] + A[vn, vi, vk] * B[vn, vk, vj]
                    C[vn, vi, vj] = T.max(Y[vn, vi, vj], T.float32(0))

    return InOneBlock


def other_order() -> Any:
    """The same, with the arguments of its maximum the other way round."""
    A, B = (te.placeholder(SHAPE, "float32", name=name) for name in "AB")
    k = te.reduce_axis((0, 128), name="k")
    Y = te.compute(SHAPE, lambda n, i, j: te.sum(A[n, i, k] * B[n, k, j], axis=k), name="Y")
    zero = tvm.tirx.const(0, "float32")
    C = te.compute(SHAPE, lambda *place: tvm.tirx.max(zero, Y[place]), name="C")
    return tvm.IRModule({"bmm_relu": te.create_prim_func([A, B, C])})


def of_one_place() -> Any:
    """A product whose sums have one term each."""
    A = te.placeholder((16, 8, 1), "float32", name="A")
    B = te.placeholder((16, 1, 8), "float32", name="B")
    k = te.reduce_axis((0, 1), name="k")
    Y = te.compute((16, 8, 8), lambda n, i, j: te.sum(A[n, i, k] * B[n, k, j], axis=k), name="Y")
    return tvm.IRModule({"bmm": te.create_prim_func([A, B, Y])})


def transform(
    sch: Any,
    *,
    lanes: int = 8,
    terms: int = 4,
    swapped: bool = False,
    without: str = "",
    at: int = 0,
) -> None:
    """Do the exercise, or all of it but something."""
    Y, C = sch.get_sblock("Y", "bmm_relu"), sch.get_sblock("C", "bmm_relu")
    n, i, j, k = sch.get_loops(Y)
    tile, vector = sch.split(j, [None, lanes])
    outer, inner = sch.split(k, [None, terms])
    if swapped:
        sch.reorder(tile, i)
    sch.reorder(outer, inner, vector)
    if without != "parallel":
        sch.parallel(n)
    if without != "unroll":
        sch.unroll(inner)
    if without != "vectorize":
        sch.vectorize(vector)
    if without != "reverse_compute_at":
        sch.reverse_compute_at(C, i if swapped else tile)
    if without not in ("reverse_compute_at", "second vectorize"):
        sch.vectorize(sch.get_loops(C)[-1])
    if without != "decompose":
        sch.decompose_reduction(Y, sch.get_loops(Y)[3 + at])


def scheduled(steps: Steps = transform, module: Any = Written) -> Candidate:
    return schedules.candidate(module, steps)


def facts_of(module: Any) -> FunctionFacts:
    """Return the facts of a module's only function."""
    (function,) = read_module(modules.save(module)).functions.values()
    return function


@I.ir_module
class Spatial:
    """As a student writes it whose sum has an axis that is declared as spatial."""

    @T.prim_func(s_tir=True)
    def bmm_relu(
        A: T.Buffer((16, 128, 128), "float32"),  # noqa: N805
        B: T.Buffer((16, 128, 128), "float32"),
        C: T.Buffer((16, 128, 128), "float32"),
    ):
        T.func_attr({"tirx.noalias": True})
        Y = T.sblock_alloc_buffer((16, 128, 128), "float32")
        for n, i, j, k in T.grid(16, 128, 128, 128):
            with T.sblock("Y"):
                vn, vi, vj, vk = T.axis.remap("SSSS", [n, i, j, k])
                with T.init():
                    Y[vn, vi, vj] = T.float32(0)
                Y[vn, vi, vj] = Y[vn, vi, vj] + A[vn, vi, vk] * B[vn, vk, vj]
        for n, i, j in T.grid(16, 128, 128):
            with T.sblock("C"):
                vn, vi, vj = T.axis.remap("SSS", [n, i, j])
                C[vn, vi, vj] = T.max(Y[vn, vi, vj], T.float32(0))


def facts_after(steps: Steps, written: Any = Written) -> FunctionFacts:
    """Return the facts of the function as written, after a schedule."""
    schedule = s_tir.Schedule(written)
    steps(schedule)
    return facts_of(schedule.mod)


@cache
def transformed() -> FunctionFacts:
    """Return the facts of the target: to read a scheduled product takes a fifth of a second."""
    return facts_after(transform)
