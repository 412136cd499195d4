"""What a launcher whose children use TVM imports and does once, so that none of them has to.

It runs in the launcher, before anything is known of a submission. Nothing here may start a thread:
a forked child would have its locks and not the thread.
"""

from __future__ import annotations

import sys

from grader.inside.launcher.backtraces import forgo_backtraces
from grader.inside.launcher.protocol import Preload


def prepare(preload: Preload) -> None:
    """Import TVM and build something small: the first build takes three times as long.

    A pure launcher hides PyTorch, which TVM would import along (0.5 s instead of 1.8 s).
    """
    if preload == "pure":
        sys.modules["torch"] = None  # type: ignore[assignment]
    else:
        import torch

        torch.set_num_threads(1)
    import tvm_ffi  # which would have imported PyTorch

    forgo_backtraces(lambda: tvm_ffi.dtype("no such type"))
    rehearse()


def rehearse() -> None:
    """Build and run a small module.

    Its loops are serial: TVM's pool of threads is made when the first parallel one runs, with as
    many threads as there will ever be, and that is for each child to say.
    """
    import numpy as np
    import tvm
    from tvm import relax

    from grader.inside.common.poison import Poison

    builder = relax.BlockBuilder()
    argument = relax.Var("x", relax.TensorType([4], "float32"))
    with builder.function("main", [argument]):
        with builder.dataflow():
            result = builder.emit_output(builder.emit_te(tvm.topi.add, argument, argument))
        builder.emit_func_output(result)
    module = tvm.ir.load_json(tvm.ir.save_json(builder.get()))
    machine = relax.VirtualMachine(relax.build(module, tvm.target.Target("llvm")), tvm.cpu())
    machine.set_instrument(Poison())
    machine["main"](tvm.runtime.tensor(np.ones(4, np.float32)))
