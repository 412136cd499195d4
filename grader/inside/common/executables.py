"""Executables of TVM run as they lie in memory, without a C compiler.

The code of an executable comes from LLVM and runs in the process that built it. A module that has
no TIR function, such as one of calls of externs alone, has no such code: TVM gives it an empty C
source instead, `;`. `Executable.jit`, which `relax.VirtualMachine` calls, would have it compiled
and linked by `g++`, `gcc` or `clang`. On machines without a compiler (`python:*-slim`, a minimal
Debian) it raises "AssertionError: Target triple should not be empty".
"""

import functools
from typing import Any

EMPTY_SOURCE = ";"
"""What TVM has linked where there is no code."""


def make_machine(executable: Any) -> Any:
    """Return a virtual machine on the processor that runs what `relax.build` returned."""
    import tvm
    from tvm import relax

    return relax.VirtualMachine(executable.mod, tvm.cpu())


NO_COMPILER = "TVM found no C compiler"
"""How an error begins that says so; `grader/execute/known_errors.py` reads it."""


def prepare_linking() -> None:
    """Have a student's TVM ask for a compiler only where it needs one, and say so if none is found.

    Safe to call more than once.
    """
    leave_empty_sources_out()
    tell_of_missing_compiler()


def tell_of_missing_compiler() -> None:
    """Have TVM say what it lacks where it is to link a library and finds no compiler.

    TVM says "Target triple should not be empty", or "expected str, bytes or os.PathLike object, not
    NoneType". A compiler is looked for when it is needed: a sandbox has its own PATH.
    """
    from tvm.support import cc

    find = cc.get_cc
    if hasattr(find, "__wrapped__"):
        return

    @functools.wraps(find)
    def find_or_raise() -> Any:
        found = find()
        if found is None:
            raise FileNotFoundError(f"{NO_COMPILER}: g++, gcc and clang are not in PATH.")
        return found

    cc.get_cc = find_or_raise
    cc.create_shared.get_target_triple = lambda: cc.get_target_by_dump_machine(find_or_raise())()


def leave_empty_sources_out() -> None:
    """Have `Executable.jit` compile no empty source: TVM runs such an executable as it is.

    Whoever asks for their own compiler, or for other files to be linked, gets what they ask
    for.
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
    if module.kind == "static_library":
        return True
    if module.kind == "c" and module.inspect_source().strip() != EMPTY_SOURCE:
        return True
    return any(map(_needs_compiler, module.imports))
