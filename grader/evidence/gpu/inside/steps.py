"""Small changes of a schedule whose kernel is wrong, each replayed and executed on trial.

TVM keeps what a function computes in each step, but not that its threads find what they need: a
loop that is bound to another axis, a piece of another size, a block in another loop, a buffer in
another memory. Steps that stand in one line, as in a loop over operands, are changed together.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, combinations, islice, permutations
from typing import Any, NamedTuple

import tvm
import tvm_ffi

from grader.evidence.gpu.inside.changes import Trials
from grader.evidence.gpu.inside.quoting import cut
from grader.evidence.gpu.messages import StepChange, StepKind

MOST_TRIALS = 600
"""Most changes that are replayed; TVM refuses most of them at once."""

MOST_STEPS = 2 * 10**7
"""Longest execution of all changes together, in statements times threads: some five seconds."""

MOST_FOUND = 2
"""Changes without faults behind which no other one is looked for: TVM keeps what is computed."""

MOST_INSTRUCTIONS = 150
"""Longest trace of which changes are tried."""

AXES = ("threadIdx.x", "threadIdx.y", "blockIdx.x", "blockIdx.y", "threadIdx.z", "blockIdx.z")
SCOPES = ("shared", "local")
_MOST_ORDERS = 24

Instruction = list[Any]
"""Kind, inputs, attributes and outputs."""

_INPUTS, _ATTRIBUTES, _OUTPUTS = 1, 2, 3


class _Proposal(NamedTuple):
    """Instructions with one change at `place`; `before` and `after` may be loops of the trace."""

    kind: StepKind
    place: int
    instructions: list[Instruction]
    before: tuple[str, ...]
    after: tuple[str, ...]


def find_steps(
    base: Any, expected: Any, trace: Sequence[Any], lines: Sequence[int], trials: Trials
) -> tuple[StepChange, ...]:
    """Return changes of a trace with which nothing is found in any call, the likeliest first.

    Nothing is tried where the trace does not make the module that was handed in. `lines` tell for
    each instruction which others stand in its line; 0 where that is not known.
    """
    instructions, decisions = trace
    if decisions or len(instructions) > MOST_INSTRUCTIONS:
        return ()
    made = _replayed(base, instructions)
    if made is None or not tvm_ffi.structural_equal(made, expected):
        return ()
    found, seen = list[StepChange](), {tvm_ffi.structural_hash(made)}
    for one in islice(_proposals(instructions, lines), MOST_TRIALS):
        if trials.are_over or len(found) == MOST_FOUND:
            break
        module = _replayed(base, one.instructions)
        if module is None:
            continue
        key = tvm_ffi.structural_hash(module)
        computed = None if key in seen else trials.computed(trials.function_of(module))
        seen.add(key)
        if computed is not None:
            names = _Names(base, instructions, one.place)
            before, after = (cut(", ".join(map(names.of, each))) for each in one[-2:])
            after = f"{_CALLS[one.kind]}({after})" if one.kind in _CALLS else after
            found.append(StepChange(one.kind, one.place, before, after, computed))
    return tuple(found)


def _replayed(base: Any, instructions: Sequence[Instruction]) -> Any:
    """Return what a trace makes of a module, None where TVM refuses a step."""
    try:
        schedule = tvm.s_tir.Schedule(base, error_render_level="none")
        tvm.s_tir.schedule.Trace.apply_json_to_schedule([list(instructions), []], schedule)
    except Exception:  # noqa: BLE001  TVM raises what it likes on an odd step
        return None
    return schedule.mod


_CALLS = {"place_missing": "compute_at", "place_missing_reverse": "reverse_compute_at"}


class _Names:
    """The names of loops and blocks, as they are in the function that a step changes."""

    def __init__(self, base: Any, instructions: Sequence[Instruction], place: int) -> None:
        self._schedule = tvm.s_tir.Schedule(base)
        done = instructions[: place + 1]
        tvm.s_tir.schedule.Trace.apply_json_to_schedule([list(done), []], self._schedule)
        self._known = {
            name: output
            for written, made in zip(done, self._schedule.trace.insts, strict=True)
            for name, output in zip(written[_OUTPUTS], made.outputs, strict=True)
        }

    def of(self, text: str) -> str:
        """Return the name of a loop or a block, and any other text as it is."""
        if text not in self._known:
            return text
        try:
            found = self._schedule.get(self._known[text])
            return f"{found.name_hint if text[0] == 'b' else found.loop_var.name}"
        except Exception:  # noqa: BLE001 - a loop that was split is there no longer
            return text


# --- proposals ------------------------------------------------------------------------------------


class _Trace:
    """Instructions, which of them stand in one line, and where their loops come from."""

    def __init__(self, instructions: Sequence[Instruction], lines: Sequence[int]) -> None:
        self.instructions = list(instructions)
        self.lines = [*lines, *[0] * len(self.instructions)][: len(self.instructions)]
        self.producers = {
            name: (place, at)
            for place, each in enumerate(self.instructions)
            for at, name in enumerate(each[_OUTPUTS])
        }

    def of_kind(self, *kinds: str) -> Iterator[tuple[int, Instruction]]:
        """Yield the first instruction of such a kind of each line."""
        seen = set()
        for place, each in enumerate(self.instructions):
            key = (each[0], self.lines[place] or -place - 1)
            if each[0] in kinds and key not in seen:
                seen.add(key)
                yield place, each

    def together(self, place: int) -> list[int]:
        """Return the places of the instructions of a kind that stand in one line."""
        line, kind = self.lines[place], self.instructions[place][0]
        if not line:
            return [place]
        pairs = enumerate(zip(self.lines, self.instructions, strict=True))
        return [at for at, (other, each) in pairs if other == line and each[0] == kind]

    def changed(
        self, place: int, change: Callable[[Instruction], Instruction | None]
    ) -> list[Instruction] | None:
        """Return the instructions with those of one line changed, None where one cannot be."""
        made = list(self.instructions)
        for at in self.together(place):
            new = change(copy.deepcopy(made[at]))
            if new is None:
                return None
            made[at] = new
        return None if made == self.instructions else made

    def loops_beside(self, name: str) -> Iterator[tuple[int, str]]:
        """Yield the loops of the step that gave one, the nearest first, with how far they are."""
        place, at = self.producers[name]
        outputs = self.instructions[place][_OUTPUTS]
        others = sorted(range(len(outputs)), key=lambda each: abs(each - at))
        yield from ((each - at, outputs[each]) for each in others if each != at)

    def loops_before(self, place: int) -> list[str]:
        """Return all loops that were given before a step, the last first."""
        done = self.instructions[:place]
        return [e for one in reversed(done) for e in reversed(one[_OUTPUTS]) if e[0] == "l"]

    def moved(self, name: str, by: int) -> str | None:
        """Return the loop beside one that is so far from it."""
        place, at = self.producers[name]
        outputs = self.instructions[place][_OUTPUTS]
        return outputs[at + by] if 0 <= at + by < len(outputs) else None


def _proposals(instructions: Sequence[Instruction], lines: Sequence[int]) -> Iterator[_Proposal]:
    trace = _Trace(instructions, lines)
    return chain(
        _placed(trace),
        _axes(trace),
        _scopes(trace),
        _neighbouring_loops(trace),
        _orders(trace),
        _factor_orders(trace),
        _exchanged(trace),
        _factors(trace),
        _fused(trace),
        _other_loops(trace),
        _added(trace),
        _left_out(trace),
    )


def _axes(trace: _Trace) -> Iterator[_Proposal]:
    """Bind loops to other axes, or two of them the other way round."""
    for place, (_, _, (own,), _) in trace.of_kind("Bind"):
        for axis in AXES:
            made = trace.changed(place, lambda e, a=axis: [e[0], e[1], [a], e[3]])  # type: ignore[misc]
            if made is not None:
                yield _Proposal("axis", place, made, (own,), (axis,))
    for (place, one), (_, other) in combinations(trace.of_kind("Bind"), 2):
        pair = (one[_ATTRIBUTES][0], other[_ATTRIBUTES][0])
        if pair[0] != pair[1]:
            made = [_with_axis(each, *pair) for each in trace.instructions]
            yield _Proposal("axes", place, made, pair, pair[::-1])


def _with_axis(instruction: Instruction, one: str, other: str) -> Instruction:
    kind, inputs, attributes, outputs = instruction
    if kind != "Bind" or attributes[0] not in (one, other):
        return instruction
    return [kind, inputs, [other if attributes[0] == one else one], outputs]


def _placed(trace: _Trace) -> Iterator[_Proposal]:
    """Move a copy into a loop of those that own its memory.

    A sum written back by blocks instead of threads is right in shared memory too, and slower.
    """
    scopes = {e[_OUTPUTS][0]: e[_ATTRIBUTES][1] for e in trace.instructions if e[0] in _COPYING}
    for place, each in trace.of_kind(*_PLACING):
        block, own = each[_INPUTS]
        for name in _owners(trace, place, scopes.get(block, "")):
            made = trace.changed(place, lambda e, n=name: _with_input(e, 1, n))  # type: ignore[misc]
            if made is not None:
                yield _Proposal("loop", place, made, (own,), (name,))


def _owners(trace: _Trace, place: int, scope: str) -> Iterator[str]:
    """Yield the loops before a step that give each block, or each thread, such memory."""
    wanted = "threadIdx" if scope == "local" else "blockIdx"
    bound = {e[_INPUTS][0]: e[_ATTRIBUTES][0] for e in trace.instructions if e[0] == "Bind"}
    yield from (e for e in trace.loops_before(place) if bound.get(e, "").startswith(wanted))


def _scopes(trace: _Trace) -> Iterator[_Proposal]:
    """Keep a copy in other memory."""
    for place, each in trace.of_kind("CacheRead", "CacheWrite", "SetScope"):
        own = each[_ATTRIBUTES][1]
        for scope in SCOPES:
            made = trace.changed(place, lambda e, s=scope: [e[0], e[1], [e[2][0], s], e[3]])  # type: ignore[misc]
            if made is not None:
                yield _Proposal("scope", place, made, (own or "global",), (scope,))


_ON_LOOPS = (
    "Bind",
    "ComputeAt",
    "DecomposeReduction",
    "ReverseComputeAt",
    "Split",
    "Unroll",
    "Vectorize",
)


def _loop_of(instruction: Instruction) -> int:
    """Return which input of a step is its loop."""
    return 1 if instruction[0] in ("ComputeAt", "DecomposeReduction", "ReverseComputeAt") else 0


def _neighbouring_loops(trace: _Trace) -> Iterator[_Proposal]:
    """Do a step on another loop of those that its own came with."""
    for place, each in trace.of_kind(*_ON_LOOPS):
        own = each[_INPUTS][_loop_of(each)]
        for by, name in trace.loops_beside(own) if own in trace.producers else ():
            made = trace.changed(place, lambda e, by=by: _beside(e, trace, by))  # type: ignore[misc]
            if made is not None:
                yield _Proposal("loop", place, made, (own,), (name,))


def _beside(instruction: Instruction, trace: _Trace, by: int) -> Instruction | None:
    at = _loop_of(instruction)
    other = trace.moved(instruction[_INPUTS][at], by)
    return None if other is None else _with_input(instruction, at, other)


def _with_input(instruction: Instruction, at: int, value: Any) -> Instruction:
    kind, inputs, attributes, outputs = instruction
    return [kind, [*inputs[:at], value, *inputs[at + 1 :]], attributes, outputs]


def _other_loops(trace: _Trace) -> Iterator[_Proposal]:
    """Do a step on a loop that came from anywhere."""
    for place, each in trace.of_kind(*_ON_LOOPS):
        at = _loop_of(each)
        own = each[_INPUTS][at]
        for name in trace.loops_before(place):
            if name != own:
                made = trace.changed(
                    place,
                    lambda e, a=at, n=name: _with_input(e, a, n),  # type: ignore[misc]
                )
                if made is not None:
                    yield _Proposal("loop", place, made, (own,), (name,))


def _orders(trace: _Trace) -> Iterator[_Proposal]:
    """Exchange two loops of a reordering."""
    for place, (kind, inputs, attributes, outputs) in trace.of_kind("Reorder"):
        pairs = sorted(combinations(range(len(inputs)), 2), key=lambda each: each[1] - each[0])
        for one, other in pairs:
            made = list(inputs)
            made[one], made[other] = made[other], made[one]
            new = [kind, made, attributes, outputs]
            instructions = [*trace.instructions]
            instructions[place] = new
            yield _Proposal("order", place, instructions, tuple(inputs), tuple(made))


def _factor_orders(trace: _Trace) -> Iterator[_Proposal]:
    """Give the factors of a split in another order."""
    for place, each in trace.of_kind("Split"):
        own = each[_INPUTS][1:]
        others = dict.fromkeys(islice(permutations(own), _MOST_ORDERS))
        for order in others:
            yield from _split(trace, place, own, list(order))


def _factors(trace: _Trace) -> Iterator[_Proposal]:
    """Give one factor of a split as in another split, or near its own."""
    every = [f for _, each in trace.of_kind("Split") for f in each[_INPUTS][1:] if type(f) is int]
    for place, each in trace.of_kind("Split"):
        own = each[_INPUTS][1:]
        for at, factor in enumerate(own):
            if type(factor) is not int:
                continue
            near = [factor // 2, factor - 1, factor + 1, 2 * factor]
            for other in dict.fromkeys([*every, *near]):
                if other > 0:
                    yield from _split(trace, place, own, [*own[:at], other, *own[at + 1 :]])


def _split(trace: _Trace, place: int, own: list[Any], new: list[Any]) -> Iterator[_Proposal]:
    def changed(each: Instruction) -> Instruction | None:
        kind, inputs, attributes, outputs = each
        return [kind, [inputs[0], *new], attributes, outputs] if inputs[1:] == own else None

    made = trace.changed(place, changed)
    if made is not None:
        yield _Proposal("factors", place, made, (_listed(own),), (_listed(new),))


def _listed(factors: Sequence[Any]) -> str:
    return f"[{', '.join(map(str, factors))}]"


def _exchanged(trace: _Trace) -> Iterator[_Proposal]:
    """Take two loops that a step gives for each other, wherever they are used.

    Of those that nothing uses there is nothing to exchange: 75 times 2,000 pairs took two minutes.
    """
    used = set[str]().union(*map(_taken, trace.instructions))
    for place, each in trace.of_kind("GetLoops", "Split"):
        loops = each[_OUTPUTS]
        pairs = sorted(combinations(range(len(loops)), 2), key=lambda pair: pair[1] - pair[0])
        for one, other in pairs:
            if used.isdisjoint((loops[one], loops[other])):
                continue
            names = {loops[one]: loops[other], loops[other]: loops[one]}
            made = [_renamed(e, names) for e in trace.instructions]
            pair = (loops[one], loops[other])
            if made != trace.instructions:
                yield _Proposal("exchanged", place, made, pair, pair[::-1])


def _renamed(instruction: Instruction, names: dict[str, str]) -> Instruction:
    kind, inputs, attributes, outputs = instruction
    new = [names.get(each, each) if type(each) is str else each for each in inputs]
    return [kind, new, attributes, outputs]


def _fused(trace: _Trace) -> Iterator[_Proposal]:
    """Fuse a loop more or less, of those that came together."""
    for place, each in trace.of_kind("Fuse"):
        own = each[_INPUTS]
        for first, last in ((-1, 0), (1, 0), (0, 1), (0, -1)):
            made = trace.changed(place, lambda e, f=first, n=last: _more(e, trace, f, n))  # type: ignore[misc]
            if made is not None:
                after = made[place][_INPUTS]
                yield _Proposal("fused", place, made, tuple(own), tuple(after))


def _more(instruction: Instruction, trace: _Trace, first: int, last: int) -> Instruction | None:
    """Let a fusion begin or end at the next loop; None where its loops came from several steps."""
    kind, inputs, attributes, outputs = instruction
    places = [trace.producers.get(each, (-1, 0)) for each in inputs]
    if not places or len({place for place, _ in places}) > 1 or places[0][0] < 0:
        return None
    around = trace.instructions[places[0][0]][_OUTPUTS]
    start, end = places[0][1] + first, places[-1][1] + 1 + last
    if start < 0 or end > len(around) or end - start < 1:
        return None
    return [kind, around[start:end], attributes, outputs]


def _added(trace: _Trace) -> Iterator[_Proposal]:
    """Bind a loop that is bound to nothing, or move a copy that stands where it was made."""
    end = len(trace.instructions)
    bound = {each[_ATTRIBUTES][0] for _, each in trace.of_kind("Bind")}
    free = [each for each in AXES[:4] if each not in bound]
    used = {each[_INPUTS][0] for e in _BINDING for _, each in trace.of_kind(e)}
    for axis in [*free, *(each for each in AXES[:4] if each in bound)]:
        for name in trace.loops_before(end):
            if name not in used:
                yield _add(trace, end, ["Bind", [name], [axis], []], (name, axis))
    placed = {each[_INPUTS][0] for e in _PLACING for _, each in trace.of_kind(e)}
    for kind, given in (("ReverseComputeAt", "CacheWrite"), ("ComputeAt", "CacheRead")):
        for _, each in trace.of_kind(given):
            (block,), scope = each[_OUTPUTS], each[_ATTRIBUTES][1]
            loops = (*_owners(trace, end, scope), *trace.loops_before(end))
            for name in dict.fromkeys(loops) if block not in placed else ():
                yield _add(trace, end, [kind, [block, name], [0, -1], []], (block, name))


_BINDING = ("Bind", "Fuse", "Split", "Unroll", "Vectorize")
_COPYING = ("CacheRead", "CacheWrite")
_PLACING = ("ComputeAt", "ReverseComputeAt")


def _add(trace: _Trace, at: int, new: Instruction, told: tuple[str, str]) -> _Proposal:
    made = [*trace.instructions[:at], new, *trace.instructions[at:]]
    if new[0] == "Bind":
        return _Proposal("bind_missing", at, made, (told[0],), (told[1],))
    kind: StepKind = "place_missing" if new[0] == "ComputeAt" else "place_missing_reverse"
    return _Proposal(kind, at, made, (), told)


def _left_out(trace: _Trace) -> Iterator[_Proposal]:
    """Leave out a step whose results nothing takes."""
    for place, each in trace.of_kind(*_WITHOUT):
        gone = trace.together(place)
        outputs = {name for at in gone for name in trace.instructions[at][_OUTPUTS]}
        made = [e for at, e in enumerate(trace.instructions) if at not in gone]
        if not any(outputs & _taken(other) for other in made):
            yield _Proposal("left_out", place, made, (each[0],), ())


_WITHOUT = (
    "Bind",
    "ComputeAt",
    "ComputeInline",
    "DecomposeReduction",
    "Reorder",
    "ReverseComputeAt",
    "ReverseComputeInline",
    "SetScope",
    "StorageAlign",
    "Unroll",
    "Vectorize",
)


def _taken(instruction: Instruction) -> set[str]:
    inputs = instruction[_INPUTS]
    flat = [x for each in inputs for x in (each if isinstance(each, list) else [each])]
    return {each for each in flat if isinstance(each, str)}
