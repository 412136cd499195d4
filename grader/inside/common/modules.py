"""Modules as TVM has them, of documents that the referee has read."""

from __future__ import annotations

import tvm
import tvm_ffi


def load_module(document: bytes) -> tvm.IRModule:
    """Load TVM's graph JSON. Raises TypeError when it is something else than a module.

    What is loaded is what the referee has read, to the letter. `tvm.ir.load_json` first rewrites
    it, for documents of older versions, of which there are none here; that takes three quarters of
    the time, a twentieth of a second for a network with its weights, several times in a grading.
    """
    module = tvm_ffi.serialization.from_json_graph_str(document.decode())
    if not isinstance(module, tvm.IRModule):
        raise TypeError("the JSON holds something else than an IRModule")
    return module
