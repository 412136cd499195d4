"""The buffers that a TIR function fills on its way, made outputs of a copy of the function."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
import tvm
import tvm_ffi
from tvm import tirx

from grader.messages import STEP_LIMIT, RunModule, TracedStep

SIZE_LIMIT = 64 * 2**20
"""Most bytes of a buffer that is shown."""

_SERIAL = 0
_DTYPES = ("float16", "float32", "float64", "int32", "int64")


class Buffer(NamedTuple):
    """A buffer that was made an output."""

    name: str
    dtype: str
    shape: tuple[int, ...]


class Source(NamedTuple):
    """What a buffer is computed from: shown ones, by place, and arguments."""

    places: frozenset[int] = frozenset()
    is_input: bool = False


def join(sources: Sequence[Source | None]) -> Source:
    """Return what a value is computed from that takes several others; None is nothing known."""
    known = [each for each in sources if each is not None]
    places: frozenset[int] = frozenset().union(*(each.places for each in known))
    return Source(places, any(each.is_input for each in known))


class Buffers(NamedTuple):
    """A module whose function `function` has further outputs, `added`, behind its own.

    `order` has the places of all of them in the order of the steps; `sources` are, for each place,
    what it is computed from, `names` are their names.
    """

    module: Any
    function: str
    added: tuple[Buffer, ...]
    names: tuple[str, ...]
    order: tuple[int, ...]
    sources: tuple[Source, ...]

    def in_order(self, steps: Sequence[TracedStep]) -> tuple[TracedStep, ...]:
        """Return the steps: buffers in the order in which they are written, then the outputs."""
        order = [place for place in self.order if place < len(steps)]
        numbers = {place: number for number, place in enumerate(order)}
        return tuple(self._described(steps[place], place, numbers) for place in order)

    def _described(self, step: TracedStep, place: int, numbers: Mapping[int, int]) -> TracedStep:
        source = self._from_earlier(place, numbers)
        return msgspec.structs.replace(
            step,
            variable=self.names[place],
            callee=self.function,
            takes=tuple(sorted(source.places)),
            takes_input=source.is_input,
            binding=None,
        )

    def _from_earlier(self, place: int, numbers: Mapping[int, int]) -> Source:
        """Return what one is computed from, as numbers of steps: of later ones, what those take."""
        found = Source(is_input=self.sources[place].is_input)
        passed = {place}
        waiting = list(self.sources[place].places)
        while waiting:
            other = waiting.pop()
            if other in passed or other not in numbers:
                continue
            passed.add(other)
            if numbers[other] < numbers[place]:
                found = join([found, Source(frozenset({numbers[other]}))])
            else:
                waiting += self.sources[other].places
                found = join([found, Source(is_input=self.sources[other].is_input)])
        return found


def expose(module: Any, run: RunModule) -> Buffers | None:
    """Return a module whose TIR function that is run writes its buffers where they can be read.

    None where there is no such function. Buffers that it allocates outside of its blocks are
    shared by all its loops: so they may as well be its caller's, unless it is scheduled and its
    threads would share what each has for itself. Then only the outputs are told about.
    """
    functions = {str(variable.name_hint): each for variable, each in module.functions.items()}
    name = run.function
    function = functions.get(name)
    if not isinstance(function, tirx.PrimFunc) or not run.outputs:
        return None
    outputs = list(function.params)[-len(run.outputs) :]
    inner = _inner(function)[: max(0, STEP_LIMIT - len(outputs))]
    changed = _with_parameters(function, inner) if inner else function
    copied = tvm.IRModule(dict(module.functions.items()), attrs=module.attrs)
    copied.update_func(module.get_global_var(name), changed)
    added = tuple(Buffer(str(each.name), _dtype(each), _shape(each) or ()) for each in inner)
    return _described(copied, name, added, function, [*outputs, *inner])


def _described(
    module: Any, name: str, added: tuple[Buffer, ...], function: Any, shown: list[Any]
) -> Buffers:
    places = {_key(each): place for place, each in enumerate(shown)}
    known = {key: Source(frozenset({place}), False) for key, place in places.items()}
    inputs = {_key(each) for each in function.params} - set(places)
    known |= dict.fromkeys(inputs, Source(frozenset(), True))
    sources = [Source() for _ in shown]
    order: list[int] = []
    for store in _all(function.body, tirx.BufferStore):
        read = [known.get(_key(load.source)) for load in _all(store.value, tvm.ir.TensorLoad)]
        source = join(read)
        place = places.get(_key(store.buffer))
        if place is None:
            known[_key(store.buffer)] = join([known.get(_key(store.buffer)), source])
            continue
        order += [place] if place not in order else []
        sources[place] = join([sources[place], source])
    outputs = len(shown) - len(added)
    order = [place for place in order if place >= outputs]
    order += [place for place in range(outputs, len(shown)) if place not in order]
    order += range(outputs)
    return Buffers(
        module,
        name,
        added,
        tuple(str(each.name) for each in shown),
        tuple(order),
        tuple(sources),
    )


def _inner(function: Any) -> list[Any]:
    """Return the buffers that may be made outputs: none of a scheduled function."""
    realize = function.body
    if not isinstance(realize, tvm.s_tir.SBlockRealize) or len(realize.block.iter_vars):
        return []
    if any(int(loop.kind) != _SERIAL for loop in _all(function.body, tirx.For)):
        return []
    return [each for each in realize.block.alloc_buffers if _is_plain(each)]


def _is_plain(buffer: Any) -> bool:
    shape, dtype = _shape(buffer), _dtype(buffer)
    if shape is None or dtype not in _DTYPES or buffer.scope() not in ("", "global"):
        return False
    return not len(buffer.strides) and math.prod(shape) * 8 <= SIZE_LIMIT


def _with_parameters(function: Any, buffers: list[Any]) -> Any:
    """Return a function that is given some of the buffers that it allocates."""
    realize, block = function.body, function.body.block
    given = {_key(each) for each in buffers}
    changed = tvm.s_tir.SBlock(
        block.iter_vars,
        block.reads,
        block.writes,
        block.name_hint,
        block.body,
        block.init,
        [each for each in block.alloc_buffers if _key(each) not in given],
        block.match_buffers,
        block.annotations,
    )
    body = tvm.s_tir.SBlockRealize(realize.iter_values, realize.predicate, changed)
    return tirx.PrimFunc([*function.params, *buffers], body, function.ret_type, function.attrs)


def _shape(buffer: Any) -> tuple[int, ...] | None:
    extents = list(buffer.shape)
    if any(not isinstance(each, tvm.ir.prim.IntImm) for each in extents):
        return None
    return tuple(int(each) for each in extents)


def _dtype(buffer: Any) -> str:
    return str(buffer.ty.dtype)


def _all(root: Any, kind: Any) -> list[Any]:
    """Return all nodes of a kind, outer ones first."""
    found: list[Any] = []
    tvm_ffi.structural_walk(root, ((kind, found.append),), order="pre")
    return found


def _key(node: Any) -> int:
    return int(node.__chandle__())
