"""The steps of a Relax `main` and the buffers of TIR functions, shown by copies of both.

A step is a call, or an `if`, that is bound to a variable and makes a tensor; a call that makes a
tuple of tensors is a step for each of them. Other names for a value are no steps. Where values come
from and how calls are counted is told as the referee reads it off the same module's JSON.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, get_args

import msgspec
import tvm
from tvm import relax, tirx

from grader.inside.common.modules import functions_of, key_of, nodes_of, with_function
from grader.messages.frames import DType
from grader.messages.runner import STEP_LIMIT, RunModule, TensorSpec, TracedStep

Module = Any


class Source(NamedTuple):
    """What a value is computed from: steps or shown buffers, by place, and arguments.

    Of a tuple, `fields` has the same for each of its fields.
    """

    places: frozenset[int] = frozenset()
    is_input: bool = False
    fields: tuple[Source, ...] | None = None


def join(sources: Sequence[Source | None]) -> Source:
    """Return what a value is computed from that takes several others; None is nothing known."""
    known = [each for each in sources if each is not None]
    places: frozenset[int] = frozenset().union(*(each.places for each in known))
    return Source(places, any(each.is_input for each in known))


def watched(module: Module, watcher: str) -> tuple[Module, list[TracedStep]]:
    """Return a copy of a module whose `main` calls an external function after every step.

    The function of the name `watcher` is given one tensor at a time, in the order of the steps,
    which have no values yet; their `dtype` is the declared one, empty where it is left open. The
    copy has no dataflow blocks: TVM fuses and reorders only within those. Names and functions stay.
    """
    plain = relax.transform.ToNonDataflow()(module)
    main = plain["main"]
    builder = relax.BlockBuilder(plain)
    marker = _Marker(main, watcher)
    bindings = [new for each in _bindings(main.body) for new in marker.mark(each)]
    body = builder.normalize(relax.SeqExpr([relax.BindingBlock(bindings)], main.body.body))
    changed = relax.Function(main.params, body, main.ret_ty, False, main.attrs)
    return with_function(plain, "main", changed), marker.steps


def _bindings(body: Any) -> Iterator[Any]:
    for block in body.blocks:
        yield from block.bindings


class _Marker:
    """Goes through the bindings of `main` in order."""

    def __init__(self, main: Any, watcher: str) -> None:
        self.steps: list[TracedStep] = []
        self._calls = 0
        self._watcher = relax.ExternFunc(watcher)
        self._origins = {key_of(each): Source(is_input=True) for each in main.params}
        self._names = _names_of_fields(main.body)

    def mark(self, binding: Any) -> list[Any]:
        """Return what replaces a binding: the same, and a call for each value that it makes."""
        value, variable = binding.value, binding.var
        is_call = isinstance(value, tvm.ir.Call)
        if not is_call and not isinstance(value, relax.If):
            self._origins[key_of(variable)] = self._origin(value)
            return [binding]
        taken = self._taken(value)
        number = None
        if is_call:
            number, self._calls = self._calls, self._calls + 1
        origin, calls = self._step(variable, variable.ty, (taken, number))
        self._origins[key_of(variable)] = origin
        return [binding, *calls]

    def _step(
        self, value: Any, kind: Any, about: tuple[Source, int | None], name: str = ""
    ) -> tuple[Source, list[Any]]:
        """Take down what a call has made; return its origin and bindings that show it."""
        taken, number = about
        if isinstance(kind, relax.TupleType):
            return self._fields(value, kind, about)
        if not isinstance(kind, relax.TensorType) or len(self.steps) >= STEP_LIMIT:
            return taken, []
        self.steps.append(
            TracedStep(
                variable=name or str(value.name),
                dtype=str(kind.dtype),
                values=None,
                takes=tuple(sorted(taken.places)),
                takes_input=taken.is_input,
                binding=number,
            )
        )
        call = tvm.ir.Call(self._watcher, [value], None, [relax.ObjectType()])
        shown = relax.VarBinding(relax.Var("shown", relax.ObjectType()), call)
        return Source(frozenset({len(self.steps) - 1})), [shown]

    def _fields(
        self, value: Any, kind: Any, about: tuple[Source, int | None]
    ) -> tuple[Source, list[Any]]:
        """Take down the elements of a tuple, each under the first name that it is given."""
        origins, bindings = [], []
        for place, field in enumerate(kind.fields):
            name = self._names.get((key_of(value), place), f"{value.name}[{place}]")
            element = relax.Var(name, field)
            origin, calls = self._step(element, field, about, name)
            if calls:
                bindings.append(relax.VarBinding(element, tvm.ir.TupleGetItem(value, place)))
            origins.append(origin)
            bindings += calls
        joined = join(origins)
        return joined._replace(fields=tuple(origins)), bindings

    def _taken(self, value: Any) -> Source:
        """Return what a call is given, or what an `if` looks at, within its branches too."""
        if isinstance(value, tvm.ir.Call):
            return join([self._origin(each) for each in value.args])
        found = [self._origin(value.cond)]
        for branch in (value.true_branch, value.false_branch):
            for binding in _bindings(branch):
                inner = binding.value
                if isinstance(inner, tvm.ir.Call | relax.If):
                    found.append(self._taken(inner))
                    self._calls += isinstance(inner, tvm.ir.Call)
                self._origins[key_of(binding.var)] = self._origin(inner)
            found.append(self._origin(branch.body))
        return join(found)

    def _origin(self, value: Any) -> Source:
        """Return where a value comes from that is no call."""
        if isinstance(value, tvm.ir.Tuple):
            fields = [self._origin(each) for each in value.fields]
            return join(fields)._replace(fields=tuple(fields))
        if isinstance(value, tvm.ir.TupleGetItem):
            whole = self._origin(value.tuple_value)
            known = whole.fields or ()
            return known[value.index] if value.index < len(known) else whole
        return self._origins.get(key_of(value), Source())


def _names_of_fields(body: Any) -> dict[tuple[int, int], str]:
    """Return the first variable that each element of a tuple is bound to, by tuple and place."""
    names: dict[tuple[int, int], str] = {}
    for binding in _bindings(body):
        value = binding.value
        if isinstance(value, tvm.ir.TupleGetItem):
            names.setdefault((key_of(value.tuple_value), int(value.index)), str(binding.var.name))
    return names


SIZE_LIMIT = 64 * 2**20
"""Most bytes of a buffer that is shown."""

_SERIAL = 0
_DTYPES = get_args(DType)


class Buffers(NamedTuple):
    """A module whose function has further outputs, `added`, behind its own.

    `order` has the places of all of them in the order of the steps; `sources` are, for each place,
    what it is computed from, `names` are their names.
    """

    module: Any
    added: tuple[TensorSpec, ...]
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
    function = functions_of(module).get(run.function)
    if not isinstance(function, tirx.PrimFunc) or not run.outputs:
        return None
    outputs = list(function.params)[-len(run.outputs) :]
    inner = _inner(function)[: max(0, STEP_LIMIT - len(outputs))]
    changed = _with_parameters(function, inner) if inner else function
    copied = with_function(module, run.function, changed)
    added = tuple(TensorSpec(_dtype(each), _shape(each) or ()) for each in inner)  # type: ignore[arg-type]
    return _described(copied, added, function, [*outputs, *inner])


def _described(
    module: Any, added: tuple[TensorSpec, ...], function: Any, shown: list[Any]
) -> Buffers:
    places = {key_of(each): place for place, each in enumerate(shown)}
    known = {key: Source(frozenset({place}), False) for key, place in places.items()}
    inputs = {key_of(each) for each in function.params} - set(places)
    known |= dict.fromkeys(inputs, Source(frozenset(), True))
    sources = [Source() for _ in shown]
    order: list[int] = []
    for store in nodes_of(function.body, tirx.BufferStore):
        read = [known.get(key_of(load.source)) for load in nodes_of(store.value, tvm.ir.TensorLoad)]
        source = join(read)
        place = places.get(key_of(store.buffer))
        if place is None:
            known[key_of(store.buffer)] = join([known.get(key_of(store.buffer)), source])
            continue
        order += [place] if place not in order else []
        sources[place] = join([sources[place], source])
    outputs = len(shown) - len(added)
    order = [place for place in order if place >= outputs]
    order += [place for place in range(outputs, len(shown)) if place not in order]
    order += range(outputs)
    return Buffers(
        module,
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
    if any(int(loop.kind) != _SERIAL for loop in nodes_of(function.body, tirx.For)):
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
    given = {key_of(each) for each in buffers}
    changed = tvm.s_tir.SBlock(
        block.iter_vars,
        block.reads,
        block.writes,
        block.name_hint,
        block.body,
        block.init,
        [each for each in block.alloc_buffers if key_of(each) not in given],
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
