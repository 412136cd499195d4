"""FindStep: find the step of a schedule that changes the result, and blocks out of place.

The modules in between are made here, of a base and a trace that the referee has read, and run with
guards. What comes of it explains, and decides about no points.
"""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any

import msgspec
import numpy as np
import tvm
from tvm import tirx

from grader.inside.common.arguments import Values
from grader.inside.common.blocks import BlockPlace, block_places
from grader.inside.common.failure import TaskError, stage
from grader.inside.common.modules import load_module
from grader.inside.runner.model import run_module
from grader.inside.runner.replay import apply_trace, beginning, differing_functions
from grader.messages.frames import pack_array, unpack_array
from grader.messages.runner import SEARCH_SECONDS, FindStep, FoundStep, Within

BLOCKS = 64
"""Most blocks of a function that are looked at, each beside each other one."""

Conflict = tuple[Within, str, str, str]
"""What is wrong, the block that takes something, the one that gives it, the loop around both."""


def conflicts(module: tvm.IRModule) -> Iterator[Conflict]:
    """Return blocks that stand in a loop in which what they take is not complete, or not apart."""
    for function in module.functions.values():
        if isinstance(function, tirx.PrimFunc):
            places = list(islice(block_places(function.body), BLOCKS + 1))
            if len(places) > BLOCKS:
                continue
            for reader in places:
                for writer in places:
                    if reader is not writer and reader.takes_from(writer):
                        yield from _between(reader, writer)


def _between(reader: BlockPlace, writer: BlockPlace) -> Iterator[Conflict]:
    for loop in reader.loops:
        if not any(loop.same_as(each) for each in writer.loops):
            continue
        name = str(loop.loop_var.name)
        if writer.sums_over(loop):
            yield "sum", reader.name, writer.name, name
        elif loop.kind == tirx.ForKind.VECTORIZED:
            yield "lanes", reader.name, writer.name, name


STEP_LIMIT = 400
"""Longest trace that is looked at, in instructions. One tuned by MetaSchedule has about a hundred,
and its result is right."""

SECONDS = 0.75 * SEARCH_SECONDS
"""How long new modules are tried; what was not found by then is not told."""

NAME_LENGTH = 200
"""Longest name in an answer, in characters; a longer one is cut."""

LOOPS_TRIED = 4
"""Outer loops that are tried in place of one that a block was moved into."""

_LOOKING = ("Get", "Sample", "EnterPostproc")
"""What instructions begin with that change no program."""

_MOVES = ("ComputeAt", "ReverseComputeAt")

Instruction = list[Any]
Clock = Callable[[], float]


class _Trial:
    """A schedule that can be done in part, and the outputs that come of it."""

    def __init__(self, task: FindStep, clock: Clock) -> None:
        with stage("decode"):
            self.instructions, self.decisions = json.loads(task.trace)
        if len(self.instructions) > STEP_LIMIT:
            raise TaskError("decode", "TooLong", "The trace has too many steps.")
        with stage("load"):
            self.base = load_module(task.run.module)
            self.expected = load_module(task.expected)
        self.tolerance = task.tolerance
        self.run = task.run
        self._clock = clock
        self._end = clock() + SECONDS
        self.wanted = self._outputs(self.base)

    @property
    def steps(self) -> list[int]:
        return [
            place
            for place, each in enumerate(self.instructions)
            if not each[0].startswith(_LOOKING)
        ]

    def is_of_the_module(self) -> bool:
        """Say whether all instructions give the module that was handed in."""
        try:
            result = self.module(self.instructions)
        except TaskError:
            return False
        return not differing_functions(result, self.expected)

    def module(self, instructions: Sequence[Instruction]) -> tvm.IRModule:
        """Return what the first instructions make of the base. Raises TaskError."""
        trace = [list(instructions), self.decisions]
        return apply_trace(self.base, beginning(trace, len(instructions)))

    def without(self, place: int) -> tvm.IRModule:
        """Return what all instructions but one make of the base. Raises TaskError."""
        rest = self.instructions[:place] + self.instructions[place + 1 :]
        decisions = [
            [at - (at > place), decision] for at, decision in self.decisions if at != place
        ]
        return apply_trace(self.base, [rest, decisions])

    def is_right(self, make: Callable[[], tvm.IRModule]) -> bool | None:
        """Say whether a module gives the outputs of the base; None where it gives none.

        Raises TaskError where there is no time left.
        """
        if self._clock() > self._end:
            raise TaskError("run", "TimeLimit", "The search took too long.")
        try:
            found = self._outputs(make())
        except TaskError:
            return None
        if found.shape != self.wanted.shape:
            return False
        wanted = self.wanted.astype(np.float64)
        scale = float(np.abs(wanted).max(initial=0.0))
        with np.errstate(invalid="ignore"):
            difference = np.abs(found.astype(np.float64) - wanted).max(initial=0.0)
        return bool(difference <= self.tolerance * scale)

    def _outputs(self, module: tvm.IRModule) -> Values:
        document = tvm.ir.save_json(module).encode()
        return unpack_array(run_module(msgspec.structs.replace(self.run, module=document)).outputs)


def find_step(task: FindStep, clock: Clock = time.monotonic) -> FoundStep:
    """Do the task. Raises TaskError where the base cannot be run, or where it takes too long."""
    trial = _Trial(task, clock)
    steps = trial.steps
    nothing = FoundStep(pack_array(trial.wanted), steps=len(steps))
    if not steps or not trial.is_of_the_module():
        return nothing
    number = _search(trial, steps)
    if not number:
        return nothing
    return _described(msgspec.structs.replace(nothing, number=number), trial, steps[number - 1])


def _search(trial: _Trial, steps: Sequence[int]) -> int:
    """Return how many steps it takes until the outputs are others, 0 where that is unknown.

    With one step less they are the same. What cannot be run halfway is passed over: a program
    between two steps need not be one that TVM can build.
    """
    found: dict[int, bool | None] = {0: True}

    def is_right(number: int) -> bool | None:
        if number not in found:
            done = trial.instructions[: steps[number - 1] + 1]
            found[number] = trial.is_right(partial(trial.module, done))
        return found[number]

    right, wrong = 0, len(steps)  # so many steps done
    if is_right(wrong) is not False:
        return 0
    while wrong - right > 1:
        middle = (right + wrong) // 2
        between = sorted(range(right + 1, wrong), key=lambda number: abs(number - middle))
        telling = next((each for each in between if is_right(each) is not None), None)
        if telling is None:
            return 0
        right, wrong = (telling, wrong) if is_right(telling) else (right, telling)
    return wrong


def _described(found: FoundStep, trial: _Trial, place: int) -> FoundStep:
    """Say what the instruction at `place` was done on, what is seen of it, and what was tried."""
    instruction = trial.instructions[place]
    before = tvm.s_tir.Schedule(trial.base)
    trace = beginning([trial.instructions, trial.decisions], place)
    tvm.s_tir.schedule.Trace.apply_json_to_schedule(trace, before)
    known = _known(trial.instructions[:place], before)
    inputs = [each for each in instruction[1] if isinstance(each, str) and each in known]
    return msgspec.structs.replace(
        found,
        instruction=instruction[0],
        blocks=tuple(_block_name(before, known[each]) for each in inputs if each[0] == "b"),
        loops=tuple(_loop_name(before, known[each]) for each in inputs if each[0] == "l"),
        may_go=trial.is_right(partial(trial.without, place)) is True,
        other_loop=_other_loop(trial, place, before, known),
        **_seen(before.mod, trial.module(trial.instructions[: place + 1])),
    )


def _known(instructions: Sequence[Instruction], schedule: Any) -> dict[str, Any]:
    """Return the blocks and loops that a schedule has found, by their names in the trace."""
    return {
        name: output
        for written, done in zip(instructions, schedule.trace.insts, strict=True)
        for name, output in zip(written[3], done.outputs, strict=True)
    }


def _block_name(schedule: Any, block: Any) -> str:
    return str(schedule.get(block).name_hint)[:NAME_LENGTH]


def _loop_name(schedule: Any, loop: Any) -> str:
    return str(schedule.get(loop).loop_var.name)[:NAME_LENGTH]


def _other_loop(trial: _Trial, place: int, schedule: Any, known: dict[str, Any]) -> str:
    """Return the next loop further out into which a block may be moved, empty where there is none.

    All other steps are done as before.
    """
    kind, inputs, attributes, outputs = trial.instructions[place]
    if kind not in _MOVES or len(inputs) < 2 or inputs[1] not in known:
        return ""
    for name in list(_outer(inputs[1], schedule, known))[:LOOPS_TRIED]:
        other = [kind, [inputs[0], name, *inputs[2:]], attributes, outputs]
        changed = [*trial.instructions[:place], other, *trial.instructions[place + 1 :]]
        if trial.is_right(partial(trial.module, changed)):
            return _loop_name(schedule, known[name])
    return ""


def _outer(loop: str, schedule: Any, known: dict[str, Any]) -> Iterator[str]:
    """Return the names of the loops around one, the next one first."""
    around = {}
    for name, each in known.items():
        if name[0] != "l":
            continue
        try:
            around[schedule.get_sref(each)] = name
        except Exception:  # noqa: BLE001, S112 - a loop that was split is there no longer
            continue
    parent = schedule.get_sref(known[loop]).parent
    while parent is not None:
        for reference, name in around.items():
            if reference.same_as(parent):
                yield name
        parent = parent.parent


def _seen(before: tvm.IRModule, after: tvm.IRModule) -> dict[str, str]:
    """Return what explains a change and was not there before the step."""
    known = set(conflicts(before))
    for each in conflicts(after):
        if each not in known:
            within, *names = each
            reader, writer, loop = (name[:NAME_LENGTH] for name in names)
            return {"within": within, "reader": reader, "writer": writer, "within_loop": loop}
    return {}
