"""A function as a GPU's compiler sees it: blocks resolved, buffers compact and flat, barriers set.

TVM has two pipelines, and they differ in who sets barriers. A function of blocks (`s_tir=True`)
goes the way of `tvm.compile`, where `ThreadSync` puts a barrier wherever a thread may read from
shared memory what another one wrote. One without blocks is taken as written, as with
`tir_pipeline="tirx"`: there a barrier that the author forgot is missing.

The passes are those of `default_s_tir_pipeline` and `tirx_pipeline` of TVM 0.27 up to the barriers,
without those that make memory of two buffers one (`StorageRewrite`, `MergeSharedMemory-
Allocations`): the fault of one buffer would be told of another.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import tvm
from tvm import s_tir, tirx

from grader.evidence.gpu.inside.failure import NotSimulatedError
from grader.evidence.gpu.inside.statements import statements_in
from grader.inside.common.failure import shorten

_S, _T = s_tir.transform, tirx.transform


class Lowered(NamedTuple):
    """A lowered PrimFunc, and the shapes that its buffers had before they were made flat, by name.

    `own_barriers`: the author sets the barriers, not TVM.
    """

    function: Any
    shapes: dict[str, tuple[int, ...]]
    own_barriers: bool


def lower(module: Any, name: str, arch: str) -> Lowered:
    """Return the lowered PrimFunc `name` of an IRModule. Raises NotSimulatedError."""
    function = module[name]
    blocks = bool(function.attrs.get("s_tir", False))
    _check_extents(function.body)
    target = tvm.target.Target({"kind": "cuda", "arch": arch}, host="llvm")
    alone = tvm.IRModule({name: function.with_attr("global_symbol", name)})
    try:
        first = [_T.BindTarget(target), *(_resolve_blocks() if blocks else _resolve_plain())]
        shaped = tvm.ir.transform.Sequential(first)(alone)
        # What the author allocates is flat after LowerTIRx; what blocks allocate is there later.
        shapes = dict(_shapes((shaped[name] if blocks else function).body))
        lowered = tvm.ir.transform.Sequential(_flatten(blocks))(shaped)
    except Exception as error:
        raise NotSimulatedError("lowering", shorten(str(error))) from error
    return Lowered(lowered[name], shapes, not blocks)


def _check_extents(body: Any) -> None:
    """Raise NotSimulatedError where one axis of one kernel has two extents.

    TVM takes one of them for all, without a word.
    """
    for outer in threads_in(body):
        found: dict[str, int] = {}
        for each in [outer, *threads_in(outer.body)]:
            # A cast has a value, too, and that is no number.
            if type(each.extent).__name__ != "IntImm" or each.tag.startswith("vthread"):
                continue
            extent = int(each.extent.value)
            least, most = sorted((found.setdefault(each.tag, extent), extent))
            if least != most:
                raise NotSimulatedError("extents", f"`{each.tag}`: {least:,} / {most:,}")


class _Threads(NamedTuple):
    """A loop that is bound to an axis of threads, or a launch of them: what runs in each."""

    tag: str
    extent: Any
    body: Any


def threads_in(node: Any) -> Iterator[_Threads]:
    """Yield the loops and launches of threads in a statement, from the outside."""
    for each in statements_in(node):
        kind = type(each).__name__
        if kind == "For" and each.thread_binding is not None:
            yield _Threads(str(each.thread_binding.thread_tag), each.extent, each.body)
        elif kind == "AttrStmt" and str(each.attr_key) == "thread_extent":
            yield _Threads(str(each.node.thread_tag), each.value, each.body)


def _shapes(node: Any) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Return names and shapes of all allocations in a statement."""
    for each in statements_in(node):
        if type(each).__name__ == "AllocBuffer":
            extents: list[Any] = [getattr(one, "value", None) for one in each.buffer.ty.shape]
            if None not in extents:
                yield str(each.buffer.name), tuple(map(int, extents))


def _resolve_blocks() -> list[Any]:
    return [
        _S.CanonicalizeLoop(),
        _S.LowerCrossThreadReduction(),
        _S.LowerInitBlock(),
        _S.PlanAndUpdateBufferAllocationLocation(),
        _S.ConvertBlocksToOpaque(),
        _S.LiftThreadBinding(),
        _S.ManifestSharedMemoryLocalStage(),
        _S.CompactBufferAllocation(),
        _S.LowerAutoCopy(),
        _S.UnifyThreadBinding(),
        _S.LowerMatchBuffer(),
        _S.StmtSimplify(),
        _S.AnnotateIrregularLoop(),
        _S.InjectSoftwarePipeline(),
        _S.LowerOpaqueBlock(),
    ]


def _resolve_plain() -> list[Any]:
    return [
        _T.LowerTIRx(),
        _S.UnifyThreadBinding(),
        _T.StmtSimplify(),
        _T.LowerTIRxOpaque(),
    ]


def _flatten(blocks: bool) -> list[Any]:
    flat = [_T.FlattenBuffer(), _T.NarrowDataType(32), _T.VectorizeLoop()]
    if not blocks:
        return [*flat, _T.StmtSimplify()]
    return [
        *flat,
        _S.InjectVirtualThread(),
        _S.InjectDoubleBuffer(),
        _T.StmtSimplify(),
        _S.ThreadSync("shared"),
        _S.ThreadSync("shared.dyn"),
    ]
