"""Mutations of a TensorIR function, scheduled or not. Each function yields one change at a time."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import tvm
import tvm_ffi
from tvm import te, tirx

from grader.inside.common.modules import changed_loop, key_of, nodes_of

TensorLoad = tvm.ir.TensorLoad
PrimFunc = Any
Change = tuple[str, Callable[[], PrimFunc]]
"""What is done, in a clause, and how to make the changed function."""

_HALVES = {"int32": "int16", "int64": "int32"}

_REDUCTION = 2
"""Value of `IterVar.iter_type` for an axis that is summed over."""


def off_by_one(function: PrimFunc) -> Iterator[Change]:
    """Leave out the last round of a loop that only a sum, or another reduction, goes along."""
    for loop in _reduction_loops(function):
        rounds = _rounds(loop)
        about = (
            f"the loop {loop.loop_var.name} ends one round early, after {rounds - 1} of {rounds}"
        )
        yield about, lambda chosen=loop: _map(function, tirx.For, _shortened(chosen))  # type: ignore[misc]


def half_precision(function: PrimFunc) -> PrimFunc | None:
    """Round everything that the function stores in float32 to float16; None where there is none."""
    changed = []

    def round_store(store: Any) -> Any:
        value = store.value
        if str(value.ty.dtype) != "float32" or isinstance(value, tvm.ir.prim.FloatImm):
            return store  # a literal such as the least float32 has no counterpart
        changed.append(store)
        rounded = tirx.Cast("float32", tirx.Cast("float16", value))
        return tirx.BufferStore(store.buffer, rounded, store.indices)

    result = _map(function, tirx.BufferStore, round_store)
    return result if changed else None


def narrow(function: PrimFunc) -> Iterator[Change]:
    """Cut off at half their bits the integers of 32 bits or more that a buffer is given."""
    for store in nodes_of(function, tirx.BufferStore):
        dtype, half = str(store.value.ty.dtype), _HALVES.get(str(store.value.ty.dtype))
        if half is None or isinstance(store.value, tvm.ir.prim.IntImm):
            continue
        cut = tirx.Cast(dtype, tirx.Cast(half, store.value))
        about = f"what {store.buffer.name} is given is cut off as {half}"
        yield about, lambda s=store, v=cut: _with_value(function, s, v)  # type: ignore[misc]


def drop_addend(function: PrimFunc) -> Iterator[Change]:
    """Leave out the addition of an argument that has fewer axes, or shorter ones."""
    arguments = set(map(key_of, function.params))
    for store in nodes_of(function, tirx.BufferStore):
        value = store.value
        if _is_smaller(value, store, arguments):  # the sum begins with the bias
            nothing = tirx.const(0, str(value.ty.dtype))
            about = f"{value.source.name} is not added"
            yield about, lambda s=store, n=nothing: _with_value(function, s, n)  # type: ignore[misc]
        if not isinstance(value, tvm.ir.prim.Add):
            continue
        for addend, rest in ((value.b, value.a), (value.a, value.b)):
            if _is_smaller(addend, store, arguments):
                about = f"{addend.source.name} is not added"
                yield about, lambda s=store, r=rest: _with_value(function, s, r)  # type: ignore[misc]


def flip_window(function: PrimFunc) -> Iterator[Change]:
    """Let the window of a convolution run the wrong way round."""
    arguments = set(map(key_of, function.params))
    for store in nodes_of(function, tirx.BufferStore):
        outer = {key_of(v) for index in store.indices for v in nodes_of(index, tvm.ir.Var)}
        for load in nodes_of(store.value, TensorLoad):
            window = list(load.indices[-2:])
            if len(load.indices) != 4 or key_of(load.source) not in arguments:
                continue
            inner = [each for each in window if isinstance(each, tvm.ir.Var)]
            extents = [int(extent) for extent in load.source.shape[-2:]]
            if len(inner) < 2 or max(extents) < 2 or outer & set(map(key_of, inner)):
                continue
            flipped = [extent - 1 - index for extent, index in zip(extents, window, strict=True)]
            turned = tirx.BufferLoad(load.source, [*load.indices[:-2], *flipped])
            about = f"the window of {load.source.name} is read from its end"
            value = _map(store.value, TensorLoad, _exchange(load, turned))
            yield about, lambda s=store, v=value: _with_value(function, s, v)  # type: ignore[misc]


def zeros(function: PrimFunc) -> PrimFunc | None:
    """Return a function of the same arguments that writes zeros; None where a shape is open."""
    return _replaced(
        function,
        lambda _, output: te.compute(
            output.shape, lambda *_: tirx.const(0, str(output.ty.dtype)), name=output.name
        ),
    )


def echo(function: PrimFunc) -> PrimFunc | None:
    """Return a function that writes its first argument, repeated or cut, into each output."""
    return _replaced(function, _echoed)


def primitive(inputs: list[Any], outputs: list[Any], compute: Callable[..., Any]) -> PrimFunc:
    """Return a function from placeholders to what `compute(inputs, output)` says of each output."""
    return te.create_prim_func([*inputs, *(compute(inputs, output) for output in outputs)])


def copy_of_input(inputs: list[Any], shape: tuple[int, ...], dtype: str, name: str) -> Any:
    """Return a tensor expression that is the first input, repeated or cut to another shape."""
    source = inputs[0]
    extents = [int(extent) for extent in source.shape]

    def item(*place: Any) -> Any:
        flat: Any = tirx.const(0, "int64")
        for index, extent in zip(place, shape, strict=True):
            flat = flat * extent + index.astype("int64")
        flat = flat % max(math.prod(extents), 1)
        indices: list[Any] = []
        for extent in reversed(extents):
            indices.insert(0, flat % extent)
            flat = flat // extent
        return source(*indices).astype(dtype)

    return te.compute(shape, item, name=name)


def outputs_of(function: PrimFunc) -> list[Any]:
    """Return the parameters that the function writes."""
    written = {key_of(store.buffer) for store in nodes_of(function, tirx.BufferStore)}
    return [each for each in function.params if key_of(each) in written]


def _echoed(inputs: list[Any], output: Any) -> Any:
    shape = tuple(int(extent) for extent in output.shape)
    return copy_of_input(inputs, shape, str(output.ty.dtype), str(output.name))


def _replaced(function: PrimFunc, compute: Callable[..., Any]) -> PrimFunc | None:
    outputs = outputs_of(function)
    written = set(map(key_of, outputs))
    places = [index for index, each in enumerate(function.params) if key_of(each) in written]
    count = len(function.params) - len(outputs)
    if not outputs or count < 1 or places != list(range(count, len(function.params))):
        return None
    if any(not isinstance(e, tvm.ir.prim.IntImm) for each in function.params for e in each.shape):
        return None
    inputs = [
        te.placeholder(tuple(each.shape), str(each.ty.dtype), name=str(each.name))
        for each in function.params[:count]
    ]
    made = primitive(inputs, outputs, compute)
    return made.with_attrs(dict(function.attrs)) if function.attrs else made


def _reduction_loops(function: PrimFunc) -> list[Any]:
    """Return the loops of more than one round whose variable only reductions depend on."""
    reduced: set[int] = set()
    spatial: set[int] = set()
    for realize in nodes_of(function, tvm.s_tir.SBlockRealize):
        for axis, value in zip(realize.block.iter_vars, realize.iter_values, strict=True):
            names = {key_of(variable) for variable in nodes_of(value, tvm.ir.Var)}
            (reduced if axis.iter_type == _REDUCTION else spatial).update(names)
    reduced |= _plain_reductions(function)
    loops = [
        loop
        for loop in nodes_of(function, tirx.For)
        if isinstance(loop.extent, tvm.ir.prim.IntImm) and _rounds(loop) > 1
    ]
    return [loop for loop in loops if key_of(loop.loop_var) in reduced - spatial]


def _rounds(loop: Any) -> int:
    return -(-int(loop.extent) // _step(loop))


def _step(loop: Any) -> int:
    return 1 if loop.step is None else int(loop.step)


def _plain_reductions(function: PrimFunc) -> set[int]:
    """Return the variables of loops outside of blocks along which a store repeats its place."""
    found: set[int] = set()
    for loop in nodes_of(function, tirx.For):
        for store in nodes_of(loop.body, tirx.BufferStore):
            loads = nodes_of(store.value, TensorLoad)
            own = any(key_of(load.source) == key_of(store.buffer) for load in loads)
            used = {key_of(v) for index in store.indices for v in nodes_of(index, tvm.ir.Var)}
            read = {key_of(v) for v in nodes_of(store.value, tvm.ir.Var)}
            if own and key_of(loop.loop_var) in read - used:
                found.add(key_of(loop.loop_var))
    return found


def _shortened(chosen: Any) -> Callable[[Any], Any]:
    def shorten(loop: Any) -> Any:
        if not loop.loop_var.same_as(chosen.loop_var):
            return loop
        less = (_rounds(loop) - 1) * _step(loop)
        extent = tvm.ir.prim.IntImm(str(loop.extent.ty.dtype), less)
        return changed_loop(loop, extent=extent)

    return shorten


def _exchange(old: Any, new: Any) -> Callable[[Any], Any]:
    return lambda node: new if node.same_as(old) else node


def _is_smaller(value: Any, store: Any, arguments: set[int]) -> bool:
    """Say whether a value is read from an argument with fewer items than what is stored to."""
    return (
        isinstance(value, TensorLoad)
        and key_of(value.source) in arguments
        and _size(value.source) < _size(store.buffer)
    )


def _with_value(function: PrimFunc, chosen: Any, value: Any) -> PrimFunc:
    return _map(
        function,
        tirx.BufferStore,
        lambda store: (
            tirx.BufferStore(store.buffer, value, store.indices) if store.same_as(chosen) else store
        ),
    )


def _map(root: Any, kind: Any, change: Callable[[Any], Any]) -> Any:
    return tvm_ffi.structural_map(root, (kind, change))


def _size(buffer: Any) -> int:
    return math.prod(int(e) if isinstance(e, tvm.ir.prim.IntImm) else 1 for e in buffer.shape)
