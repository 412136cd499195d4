"""FindStep: apply a schedule's trace step by step, and find the step that changes the result.

The modules in between are made here, of a base and a trace that the referee has read, and run with
guards. What comes of it explains, and decides about no points.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import tvm
import tvm_ffi
from tvm import tirx
from tvm.s_tir import SBlockRealize

from grader.messages import FindStep, FoundStep, RunModule, pack_array, unpack_array
from grader.messages.replay import Within
from grader.runner.failure import TaskError, stage
from grader.runner.model import load_module, run_module
from grader.runner.replay import apply_trace

STEP_LIMIT = 400
"""Longest trace that is looked at, in instructions."""

LOOPS_TRIED = 4
"""Outer loops that are tried in place of one that a block was moved into."""

_LOOKING = ("Get", "Sample", "EnterPostproc")
"""What instructions begin with that change no program."""

_REDUCTION = 2
_MOVES = ("ComputeAt", "ReverseComputeAt")

Instruction = list[Any]
Values = npt.NDArray[np.generic]


class _Trial:
    """A schedule that can be done in part, and the outputs that come of it."""

    def __init__(self, task: FindStep) -> None:
        with stage("decode"):
            self.instructions, self.decisions = json.loads(task.trace)
        if len(self.instructions) > STEP_LIMIT:
            raise TaskError("decode", "TooLong", "The trace has too many steps.")
        with stage("load"):
            self.base = load_module(task.run.module)
        self.tolerance = task.tolerance
        self.run = _first_call(task.run)
        self.wanted = self._outputs(self.base)

    @property
    def steps(self) -> list[int]:
        """Return the places of the instructions that change a program."""
        return [
            place
            for place, each in enumerate(self.instructions)
            if not each[0].startswith(_LOOKING)
        ]

    def module(self, instructions: Sequence[Instruction]) -> tvm.IRModule:
        """Return what some instructions make of the base. Raises TaskError."""
        decisions = [each for each in self.decisions if each[0] < len(instructions)]
        return apply_trace(self.base, [list(instructions), decisions])

    def is_right(self, instructions: Sequence[Instruction]) -> bool:
        """Say whether the outputs are those of the base; not where they cannot be computed."""
        try:
            found = self._outputs(self.module(instructions))
        except TaskError:
            return False
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


def find_step(task: FindStep) -> FoundStep:
    """Do the task. Raises TaskError where the base cannot be run."""
    trial = _Trial(task)
    steps = trial.steps
    found = FoundStep(pack_array(trial.wanted), steps=len(steps))
    if not steps or trial.is_right(trial.instructions):
        return found
    right, wrong = 0, len(steps)  # so many steps done
    while wrong - right > 1:
        middle = (right + wrong) // 2
        if trial.is_right(trial.instructions[: steps[middle - 1] + 1]):
            right = middle
        else:
            wrong = middle
    return _described(msgspec.structs.replace(found, number=wrong), trial, steps[wrong - 1])


def _described(found: FoundStep, trial: _Trial, place: int) -> FoundStep:
    """Say what the instruction at `place` was done on, what is seen of it, and what was tried."""
    instruction = trial.instructions[place]
    before = tvm.s_tir.Schedule(trial.base)
    trace = [trial.instructions[:place], [each for each in trial.decisions if each[0] < place]]
    tvm.s_tir.schedule.Trace.apply_json_to_schedule(trace, before)
    known = _known(trial.instructions, before)
    inputs = [each for each in instruction[1] if isinstance(each, str) and each in known]
    rest = trial.instructions[:place] + trial.instructions[place + 1 :]
    return msgspec.structs.replace(
        found,
        instruction=instruction[0],
        blocks=tuple(_block_name(before, known[each]) for each in inputs if each[0] == "b"),
        loops=tuple(_loop_name(before, known[each]) for each in inputs if each[0] == "l"),
        may_go=trial.is_right(rest),
        other_loop=_other_loop(trial, place, before, known),
        **_seen(before.mod, trial.module(trial.instructions[: place + 1])),
    )


def _known(instructions: Sequence[Instruction], schedule: Any) -> dict[str, Any]:
    """Return the blocks and loops that a schedule has found, by their names in the trace."""
    done = zip(instructions, schedule.trace.insts, strict=False)
    return {
        name: output
        for written, instruction in done
        for name, output in zip(written[3], instruction.outputs, strict=True)
    }


def _block_name(schedule: Any, block: Any) -> str:
    return str(schedule.get(block).name_hint)


def _loop_name(schedule: Any, loop: Any) -> str:
    return str(schedule.get(loop).loop_var.name)


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
        if trial.is_right(changed):
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


class _Place(msgspec.Struct, frozen=True, eq=False):
    """A block within its loops."""

    realize: Any
    loops: tuple[Any, ...]

    @property
    def name(self) -> str:
        return str(self.realize.block.name_hint)

    def sums_over(self, loop: Any) -> bool:
        """Say whether a reduction of the block goes along a loop."""
        axes = zip(self.realize.block.iter_vars, self.realize.iter_values, strict=True)
        return any(
            axis.iter_type == _REDUCTION and _uses(value, loop.loop_var) for axis, value in axes
        )

    def takes_from(self, other: _Place) -> bool:
        """Say whether a block reads what another one writes, and does not write it itself."""
        own = [each.source for each in self.realize.block.writes]
        given = [each.source for each in other.realize.block.writes]
        taken = [each.source for each in self.realize.block.reads]
        return any(
            any(each.same_as(one) for one in taken) and not any(each.same_as(one) for one in own)
            for each in given
        )


def _seen(before: tvm.IRModule, after: tvm.IRModule) -> dict[str, str]:
    """Return what explains a change and was not there before the step."""
    known = set(_conflicts(before))
    within: Within
    for within, reader, writer, loop in _conflicts(after):
        if (within, reader, writer, loop) not in known:
            return {"within": within, "reader": reader, "writer": writer, "within_loop": loop}
    return {}


def _conflicts(module: tvm.IRModule) -> Iterator[tuple[Within, str, str, str]]:
    """Return blocks that stand in a loop in which what they take is not complete, or not apart."""
    for function in module.functions.values():
        if isinstance(function, tirx.PrimFunc):
            places = list(_places(function.body, ()))
            for reader in places:
                for writer in places:
                    if reader is not writer and reader.takes_from(writer):
                        yield from _between(reader, writer)


def _between(reader: _Place, writer: _Place) -> Iterator[tuple[Within, str, str, str]]:
    for loop in reader.loops:
        if not any(loop.same_as(each) for each in writer.loops):
            continue
        name = str(loop.loop_var.name)
        if writer.sums_over(loop):
            yield "sum", reader.name, writer.name, name
        elif loop.kind == tirx.ForKind.VECTORIZED:
            yield "lanes", reader.name, writer.name, name


def _places(body: Any, loops: tuple[Any, ...]) -> Iterator[_Place]:
    if isinstance(body, tirx.SeqStmt):
        for each in body.seq:
            yield from _places(each, loops)
    elif isinstance(body, tirx.For):
        yield from _places(body.body, (*loops, body))
    elif isinstance(body, tirx.IfThenElse):
        yield from _places(body.then_case, loops)
        if body.else_case is not None:
            yield from _places(body.else_case, loops)
    elif isinstance(body, SBlockRealize):
        if body.block.iter_vars:
            yield _Place(body, loops)
        yield from _places(body.block.body, loops)


def _uses(value: Any, variable: Any) -> bool:
    found: list[Any] = []
    tvm_ffi.structural_walk(value, ((type(variable), found.append),), order="pre")
    return any(each.same_as(variable) for each in found)


def _first_call(run: RunModule) -> RunModule:
    """Return a task with its first call alone."""
    arguments = tuple(
        msgspec.structs.replace(each, array=pack_array(unpack_array(each.array)[:1]))
        if each.varies
        else each
        for each in run.arguments
    )
    return msgspec.structs.replace(run, arguments=arguments)
