"""TVM's backtraces of C++, which nobody here reads and every process would pay for.

The first error that TVM raises has libbacktrace read the symbols of all libraries of the process.
The import of TVM raises and catches such an error itself, so that it took 1.3 s of a processor in
place of 0.6, 47 MB more, and every fork of a launcher 18 ms in place of 8 to 13. Nothing switches
that off (`TVM_TRACEBACK_LIMIT=0` forgets the symbols once they are read). But libbacktrace gives up
for good where it can open no file at its first error, and its children do not try again either. An
error then says what it said before: its message, where it was raised, and the frames of Python.
"""

from __future__ import annotations

import resource
from collections.abc import Callable


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
