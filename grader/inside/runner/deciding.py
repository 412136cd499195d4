"""Whether what a function computes decides what it does: which items it uses, or how often.

Where nothing is decided by what stands in buffers, an integer that overflows is a wrong number and
no more: it can be stored, and nothing else. A sum of 64-bit integers that was never set to zero
began with whatever was there, and was told that its indices were wrong.
"""

from __future__ import annotations

from typing import Any

import tvm
import tvm_ffi
from tvm import tirx

_DIVISIONS = (
    tvm.ir.prim.Div,
    tvm.ir.prim.Mod,
    tvm.ir.prim.FloorDiv,
    tvm.ir.prim.FloorMod,
)


def decides_by_contents(body: Any) -> bool:
    """Say whether a load stands anywhere in lowered TIR where its value decides something."""
    found = tvm_ffi.structural_walk(
        body,
        [
            (tvm.ir.TensorLoad, lambda each: _stop_at_load(*each.indices)),
            (tirx.BufferStore, lambda each: _stop_at_load(*each.indices)),
            (tirx.For, lambda each: _stop_at_load(each.min, each.extent)),
            (tirx.IfThenElse, lambda each: _stop_at_load(each.condition)),
            (tirx.While, lambda each: _stop_at_load(each.condition)),
            (tirx.AssertStmt, lambda each: _stop_at_load(each.condition)),
            (tirx.Evaluate, lambda each: _stop_at_load(each.value)),
            (tirx.AllocBuffer, lambda each: _stop_at_load(*each.buffer.shape)),
            (tirx.Bind, lambda each: _stop_at_load(each.value)),
            (tirx.Let, lambda each: _stop_at_load(each.value)),
            (tvm.ir.Call, _stop_at_choice),
            *((kind, _stop_at_divisor) for kind in _DIVISIONS),
        ],
    )
    return found is not None


def _stop_at_choice(call: Any) -> Any:
    """Look at all that a call takes, but for the values that `if_then_else` chooses from."""
    name = str(getattr(call.op, "name", ""))
    return _stop_at_load(*(call.args[:1] if name == "prim.if_then_else" else call.args))


def _stop_at_divisor(division: Any) -> Any:
    is_integer = "int" in str(division.b.ty.dtype)
    return _stop_at_load(division.b) if is_integer else None


def _stop_at_load(*expressions: Any) -> Any:
    loads = [(tvm.ir.TensorLoad, lambda _: tvm_ffi.VisitInterrupt())]
    if any(tvm_ffi.structural_walk(each, loads) is not None for each in expressions):
        return tvm_ffi.VisitInterrupt()
    return None
