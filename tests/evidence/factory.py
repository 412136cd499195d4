"""Facts and evidence made by hand, for tests of what the referee decides from them."""

from __future__ import annotations

from typing import Any

import numpy as np

from grader.assignment import OracleOptions, Table
from grader.evidence.case import Candidate, Case, Evidence, Outputs
from grader.evidence.plug import Question
from grader.ir.facts import (
    Argument,
    Block,
    BufferFacts,
    Call,
    FunctionFacts,
    Loop,
    ModuleFacts,
    Store,
    TensorFacts,
)
from grader.messages.kernel import Capture

WEIGHT = (32, 1, 3, 3)
ORACLE = OracleOptions(input_shape=(1, 28, 28), output_shape=(10,))


def tensor(*shape: int) -> TensorFacts:
    return TensorFacts(shape=shape, dtype="float32")


def argument(kind, *shape: int) -> Argument:
    return Argument(kind=kind, name="", tensor=tensor(*shape))


def call(kind, callee: str, *arguments: Argument, result=(4, 32, 26, 26)) -> Call:
    return Call(kind, callee, arguments, tensor(*result), binding=f"lv_{callee}")


def module(*calls: Call, functions: dict[str, FunctionFacts] | None = None) -> ModuleFacts:
    return ModuleFacts(
        has_main=True,
        inputs=(BufferFacts("x", tensor(4, 1, 28, 28)),),
        output=tensor(4, 10),
        calls=calls,
        functions=functions or {},
        externs=tuple(each.callee for each in calls if each.kind == "extern"),
        findings=(),
    )


def loops(*extents: int, kind="serial") -> tuple[Loop, ...]:
    return tuple(Loop(f"i{index}", extent, kind) for index, extent in enumerate(extents))


def convolution(*blocks: Block, name="conv2d", allocations=()) -> FunctionFacts:
    parameters = (
        BufferFacts("x", tensor(4, 1, 28, 28)),
        BufferFacts("w", tensor(*WEIGHT)),
        BufferFacts("out", tensor(4, 32, 26, 26)),
    )
    return FunctionFacts(name=name, parameters=parameters, allocations=allocations, blocks=blocks)


PLAIN = loops(4, 32, 26, 26, 1, 3, 3)


def block(name: str, iterators: str, nest: tuple[Loop, ...], loads, store: str, **facts) -> Block:
    """A block of one store that depends on all loops."""
    return Block(
        name,
        iterators,
        facts.pop("has_init", False),
        nest,
        loads=tuple(loads),
        stores=(store,),
        statements=(Store(store, tuple(loads), nest),),
        **facts,
    )


def update(loop_nest=PLAIN, has_init=True, loads=("x", "w"), store="out", **facts) -> Block:
    return block("conv", "SSSSRRR", loop_nest, (store, *loads), store, has_init=has_init, **facts)


def padding(kind="serial") -> Block:
    return block("pad", "SSSS", loops(4, 1, 28, 28, kind=kind), ("x",), "pad", is_copy=True)


def padded_update(*arguments, **facts) -> Block:
    return update(*arguments, loads=("pad", "w"), **facts)


def init(loop_nest=PLAIN[:4], store="out") -> Block:
    return block("init", "SSSS", loop_nest, (), store, is_constant_store=True)


def case(facts: ModuleFacts, base: ModuleFacts | None = None, **evidence) -> Case:
    capture = Capture("part", "create", 3, True, b"{}")
    return Case(Candidate(capture, facts, base), Evidence(**evidence), ORACLE)


def question(
    subject: Candidate, comparison: Any, runners: Any, workload: str = "", *tables: Table
) -> Question:
    """What a kind of evidence is asked of a candidate."""
    nothing: Any = None
    return Question(
        nothing, subject, comparison, nothing, tables, runners, nothing, lambda: workload
    )


def softmax(samples: int, seed: int = 0) -> np.ndarray:
    scores = np.random.default_rng(seed).standard_normal((samples, 10))
    return np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)


def outputs(actual: np.ndarray, desired: np.ndarray, unwritten=()) -> Outputs:
    return Outputs(actual, desired, np.arange(len(desired)) % 2 == 0, unwritten)
