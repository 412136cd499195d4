"""What is asked of a runner that replays the trace of a schedule, and what came of it."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from grader.messages.arrays import Array, Count, Names
from grader.messages.frames import Message
from grader.messages.runner import RunModule, ShortText

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


SEARCH_SECONDS = 20.0
"""How long a step is looked for at most. A runner that has not answered by then is ended: what is
in the middle of a trace may take any time to build, or to run."""


class FindStep(Message, frozen=True):
    """Find the step of a schedule from which on a module computes something else.

    `run` says which function of the unscheduled module is run, and in which one call. `trace` is
    JSON as `Trace.as_json()` gives it, `expected` the module that it is said to give. Outputs that
    differ by at most `tolerance` beside the largest number are the same.
    """

    run: RunModule
    trace: bytes
    expected: bytes
    tolerance: float


Within = Literal["", "sum", "lanes"]
Operands = Annotated[tuple[ShortText, ...], msgspec.Meta(max_length=64)]


class FoundStep(Message, frozen=True):
    """The step up to which the outputs are those of the unscheduled module, and no longer then.

    `number` counts the steps that change a program, from 1; 0 where no such step was found, or
    where the trace gives another module than the one expected. `instruction` is its kind, `blocks`
    and `loops` what it was done on. `outputs` are those of the unscheduled module.

    `within` says what can be seen of it: the block `reader` now stands in the loop `within_loop`,
    over which the block `writer`, whose result it takes, still sums ("sum"), or which is vectorized
    and gives the result of `writer` room for one item only ("lanes").

    What was tried: without the step the outputs are the same again (`may_go`), or with the loop
    `other_loop` in place of its own (empty where no other one does it).
    """

    outputs: Array
    number: Count = 0
    steps: Count = 0
    instruction: ShortText = ""
    blocks: Operands = ()
    loops: Operands = ()
    within: Within = ""
    reader: ShortText = ""
    writer: ShortText = ""
    within_loop: ShortText = ""
    may_go: bool = False
    other_loop: ShortText = ""
