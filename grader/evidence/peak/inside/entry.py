"""MeasurePeak: lower a module as TVM does before it makes machine code, and count allocations.

A function's text does not say what it allocates: `compute_at` shrinks a buffer, and only TVM's own
passes find out how far. So the module is lowered in a box, and the referee reads a few numbers.
"""

from typing import Any

import tvm
from tvm import relax, s_tir, tirx

from grader.evidence.peak.messages import Answer, Holder, Peak, Task
from grader.inside.common.allocations import constant_size, item_bits
from grader.inside.common.failure import stage
from grader.inside.common.modules import functions_of, load_module

_LOWERING = (
    s_tir.transform.CanonicalizeLoop,
    s_tir.transform.LowerInitBlock,
    s_tir.transform.PlanAndUpdateBufferAllocationLocation,
    s_tir.transform.ConvertBlocksToOpaque,
    s_tir.transform.CompactBufferAllocation,
    s_tir.transform.LowerMatchBuffer,
    s_tir.transform.LowerOpaqueBlock,
    tirx.transform.FlattenBuffer,
)
_PLANNING = (
    relax.transform.LegalizeOps,
    relax.transform.RewriteDataflowReshape,
    relax.transform.ToNonDataflow,
    relax.transform.RemovePurityChecking,
    relax.transform.CallTIRRewrite,
    relax.transform.StaticPlanBlockMemory,
)
"""The passes of TVM's own pipelines that decide where memory is allocated, and how much."""

MAIN = "main"
NAME_LIMIT = 200
MOST_FUNCTIONS = 256


def perform(task: Task) -> Answer:
    """Do the task. Raises TaskError."""
    with stage("load"):
        module = load_module(task.module)
    with stage("build"), tvm.target.Target("llvm"):
        planned = _run(module, _PLANNING)
        lowered = _run(_functions_of(planned), _LOWERING)
        main = functions_of(planned).get(MAIN)
        holders = [
            Holder(name[:NAME_LIMIT], _peak(each.body))
            for name, each in sorted(functions_of(lowered).items())
        ]
    is_relax = isinstance(main, relax.Function)
    return Peak(
        Holder(MAIN, _between_calls(main)) if is_relax else None, tuple(holders[:MOST_FUNCTIONS])
    )


def _run(module: tvm.IRModule, passes: tuple[Any, ...]) -> tvm.IRModule:
    return tvm.ir.transform.Sequential([each() for each in passes])(module)


def _functions_of(module: tvm.IRModule) -> tvm.IRModule:
    found = {
        name: each for name, each in module.functions.items() if isinstance(each, tirx.PrimFunc)
    }
    return tvm.IRModule(found)


def _between_calls(main: relax.Function) -> int | None:
    """Return the bytes that `main` has for what one call gives to another; None where unknown."""
    sizes: list[int | None] = []

    def visit(expression: Any) -> None:
        name = str(getattr(getattr(expression, "op", None), "name", ""))
        if name == "relax.memory.alloc_storage":
            sizes.append(_product(expression.args[0].values))
        elif name == "relax.builtin.alloc_tensor" and _product(expression.args[0].values) is None:
            sizes.append(None)  # of any size, so not planned; those of known size are the result

    relax.analysis.post_order_visit(main, visit)
    return _total(sizes)


def _product(extents: Any) -> int | None:
    size = 1
    for each in extents:
        if not isinstance(each, tirx.IntImm):
            return None
        size *= int(each.value)
    return size


def _total(sizes: list[int | None]) -> int | None:
    known = [each for each in sizes if each is not None]
    return sum(known) if len(known) == len(sizes) else None


def _peak(statement: Any) -> int | None:
    """Return the most bytes that are allocated at once; None where that is decided at run time.

    A buffer lives until the end of the row of statements that allocates it. Each round of a loop
    has its own: those of a parallel loop are counted once, as for one thread.
    """
    live, most = 0, 0
    for each in statement.seq if isinstance(statement, tirx.SeqStmt) else (statement,):
        if isinstance(each, tirx.AllocBuffer):
            size = constant_size(each.buffer)
            if size is None:
                return None
            live += size * item_bits(each.buffer) // 8
        within = [_peak(inner) for inner in _inside(each)]
        if None in within:
            return None
        most = max(most, live, *(live + inner for inner in within if inner is not None))
    return most


def _inside(statement: Any) -> list[Any]:
    names = ("body", "then_case", "else_case")
    found = (getattr(statement, name, None) for name in names)
    return [each for each in found if isinstance(each, tirx.Stmt)]
