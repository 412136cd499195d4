"""What is asked of a runner that replays the trace of a schedule, and what came of it."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from grader.messages.arrays import Names
from grader.messages.frames import Message

Documents = Annotated[tuple[bytes, ...], msgspec.Meta(max_length=16)]

SCRIPT_LIMIT = 64_000
"""Longest text of a function, in characters; the printer of TVM is what decides how long it is."""

Script = Annotated[str, msgspec.Meta(max_length=SCRIPT_LIMIT)]


class ReplayTrace(Message, frozen=True):
    """Apply a schedule's trace to modules.

    `trace` is JSON as `Trace.as_json()` gives it, the others are TVM's graph JSON: on `base` the
    trace should give `expected`; on each of `others` it gives whatever it does. `function` is the
    one that is printed before and after; none where it is empty.
    """

    trace: bytes
    base: bytes
    expected: bytes
    others: Documents = ()
    function: str = ""


class ReplayResult(Message, frozen=True):
    """What the trace gave.

    `outcome` says whether the result on the base is structurally equal to what was expected: if it
    "differs", `functions` names the functions in which it does; if the trace "fails" on the base,
    `message` says why, in TVM's words. `modules` are the results on the others, as graph JSON,
    empty where the trace failed. `before` and `after` are the function as TVMScript on the base
    and in the result, cut at SCRIPT_LIMIT; empty where it could not be printed.
    """

    outcome: Literal["equal", "differs", "fails"]
    functions: Names = ()
    message: str = ""
    modules: Documents = ()
    before: Script = ""
    after: Script = ""
