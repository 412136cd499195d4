"""What the referee knows of a captured module, read off its JSON graph without TVM."""

from __future__ import annotations

from typing import Literal

import msgspec

Shape = tuple["int | str", ...]
"""Extents of a tensor; a symbolic extent is its variable's name."""


class Facts(msgspec.Struct, frozen=True):
    """Base of all facts."""


class TensorFacts(Facts, frozen=True):
    """Shape and dtype. `shape` is None where the module leaves it open."""

    shape: Shape | None
    dtype: str


class Argument(Facts, frozen=True):
    """One argument of a call: `kind` says where it comes from, `name` is the variable's (or empty)."""

    kind: Literal["input", "constant", "value", "other"]
    name: str
    tensor: TensorFacts | None


class Call(Facts, frozen=True):
    """One call bound in `main`, in order.

    `kind` is "tir" for call_tir (and its in-place form), "extern" for call_dps_packed and any other call of
    a packed function, "operator" for an operator of Relax, "function" for a call of another Relax function.
    `callee` is the function's, the extern's or the operator's name.
    """

    kind: Literal["tir", "extern", "operator", "function"]
    callee: str
    arguments: tuple[Argument, ...]
    result: TensorFacts | None
    binding: str


class Loop(Facts, frozen=True):
    """One loop around a block, outermost first. `extent` is None when it is not a constant."""

    variable: str
    extent: int | None
    kind: Literal["serial", "parallel", "vectorized", "unrolled", "thread_binding"]


class Block(Facts, frozen=True):
    """One block of a scheduled function (SBlock), with the loops around it.

    `iterators` has one letter per block variable: S spatial, R reduction, O anything else. `reads` and
    `writes` are buffer names. `has_init` says that the block initialises its reduction itself.
    """

    name: str
    iterators: str
    has_init: bool
    loops: tuple[Loop, ...]
    reads: tuple[str, ...]
    writes: tuple[str, ...]


class BufferFacts(Facts, frozen=True):
    """A buffer: a parameter of its function or an allocation inside it."""

    name: str
    tensor: TensorFacts


class FunctionFacts(Facts, frozen=True):
    """One PrimFunc."""

    name: str
    parameters: tuple[BufferFacts, ...]
    allocations: tuple[BufferFacts, ...]
    blocks: tuple[Block, ...]


class Finding(Facts, frozen=True):
    """Something that the allow-list refuses. `subject` is what was found, `where` the function it is in."""

    code: str
    subject: str
    where: str
    message: str


class ModuleFacts(Facts, frozen=True):
    """A whole module. `inputs` and `output` are those of `main`; `calls` in the order of its bindings."""

    has_main: bool
    inputs: tuple[BufferFacts, ...]
    output: TensorFacts | None
    calls: tuple[Call, ...]
    functions: dict[str, FunctionFacts]
    externs: tuple[str, ...]
    findings: tuple[Finding, ...]
