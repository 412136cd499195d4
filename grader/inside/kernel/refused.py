"""Modules that TVM's parser refuses as not well-formed: of many faults it does not say where.

The parser reads a class to its end before it checks what came of it. So the module is there, as it
would be without the check, and is told of: the referee looks for the place
(`grader/ir/misfits.py`).
"""

from collections.abc import Callable
from typing import Any

import tvm

from grader.messages.kernel import REFUSED_SIZE_LIMIT

_WORDS = "Program is not well-formed"
"""What TVM 0.27 says of each such module. It has no code."""


_last: list[Any] = []
"""The last module that was refused, if what was looked at last was."""


def install() -> None:
    """Look at what the check of this process's TVM is given."""
    analysis = tvm.relax.analysis
    analysis.check_well_formed = _looking(analysis.check_well_formed)


def _looking(today: Callable[..., Any]) -> Callable[..., Any]:
    def check_well_formed(*given: Any, **named: Any) -> Any:
        is_good = today(*given, **named)
        _last[:] = [] if is_good else given[:1]
        return is_good

    return check_well_formed


def refused_module(error: BaseException | None) -> bytes:
    """Return the module that an error of TVM's parser is about, as JSON; empty for other errors."""
    if error is None or not _last or not _is_refusal(error):
        return b""
    module = _last.pop()
    if not isinstance(module, tvm.IRModule):
        return b""
    try:
        document = str(tvm.ir.save_json(module)).encode()
    except Exception:  # noqa: BLE001 - TVM raises what it likes about what is not well-formed
        return b""
    return document if len(document) <= REFUSED_SIZE_LIMIT else b""


def _is_refusal(error: BaseException) -> bool:
    return type(error).__module__ == tvm.error.__name__ and _WORDS in str(error)[:200]
