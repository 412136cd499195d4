"""Executables of TVM run as they lie in memory, without a C compiler.

The code of an executable comes from LLVM and runs in the process that built it. A module that has
no TIR function, such as one of calls of externs alone, has no such code: TVM gives it an empty C
source instead, `;`. `Executable.jit`, which `relax.VirtualMachine` calls, would have it compiled
and linked by `g++`, `gcc` or `clang`. On machines without a compiler (`python:*-slim`, a minimal
Debian) it raises "AssertionError: Target triple should not be empty".
"""

from __future__ import annotations

import functools
from typing import Any

EMPTY_SOURCE = ";"
"""What TVM has linked where there is no code."""


def make_machine(executable: Any) -> Any:
    """Return a virtual machine on the processor that runs what `relax.build` returned."""
    import tvm
    from tvm import relax

    return relax.VirtualMachine(executable.mod, tvm.cpu())


def leave_empty_sources_out() -> None:
    """Have `Executable.jit` compile no empty source: TVM runs such an executable as it is.

    Whoever asks for a compiler of their own, or for other files to be linked, gets what they ask
    for. Safe to call more than once.
    """
    from tvm.runtime import Executable

    jit = Executable.jit
    if hasattr(jit, "__wrapped__"):
        return

    @functools.wraps(jit)
    def jit_unless_empty(executable: Any, **options: Any) -> Any:
        if not options and not _needs_compiler(executable.mod):
            return executable.mod
        return jit(executable, **options)

    Executable.jit = jit_unless_empty


def _needs_compiler(module: Any) -> bool:
    """Say whether a module, or one that it imports, holds code that is yet to be compiled."""
    if module.kind == "static_library":
        return True
    if module.kind == "c" and module.inspect_source().strip() != EMPTY_SOURCE:
        return True
    return any(map(_needs_compiler, module.imports))
