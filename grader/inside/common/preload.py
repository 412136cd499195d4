"""What a launcher whose children use TVM imports and does once, so that none of them has to.

It runs in the launcher, before anything is known of a submission. Nothing here may start a thread:
a forked child would have its locks and not the thread.

The first error that TVM raises has libbacktrace read the symbols of all libraries of the process.
The import of TVM raises and catches such an error itself, so that it took 1.3 s of a processor in
place of 0.6, 47 MB more, and every fork of a launcher 18 ms in place of 8 to 13. Nothing switches
that off (`TVM_TRACEBACK_LIMIT=0` forgets the symbols once they are read). But libbacktrace gives up
for good where it can open no file at its first error, and its children do not try again either. An
error then says what it said before: its message, where it was raised, and the frames of Python.
"""

import resource
import sys
from collections.abc import Callable

from grader.inside.launcher.protocol import Preload


def forgo_backtraces(fail: Callable[[], object]) -> None:
    """Have TVM raise its first error, by `fail`, while this process can open no file.

    Call it before the rest of TVM is imported; what `fail` needs must be imported already.
    """
    limit, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, most))
    try:
        fail()
    except ValueError:
        pass
    else:
        raise AssertionError("no error, so that the next one will read the symbols")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, most))


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
    import tvm_ffi
    from tvm import relax

    from grader.inside.common.executables import make_machine
    from grader.inside.common.poison import Poison

    builder = relax.BlockBuilder()
    argument = relax.Var("x", relax.TensorType([4], "float32"))
    with builder.function("main", [argument]):
        with builder.dataflow():
            result = builder.emit_output(builder.emit_te(tvm.topi.add, argument, argument))
        builder.emit_func_output(result)
    document = tvm.ir.save_json(builder.get())
    module = tvm_ffi.serialization.from_json_graph_str(document)
    machine = make_machine(relax.build(module, tvm.target.Target("llvm")))
    machine.set_instrument(Poison())
    machine["main"](tvm.runtime.tensor(np.ones(4, np.float32)))
