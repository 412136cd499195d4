"""The instrument that fills every output buffer before the call that is to write it.

A function in destination-passing style gets memory that somebody used before. One that never writes
its output, or adds to it without setting it first, may look right on stale memory: on a poisoned
buffer both show. The virtual machine calls the instrument before and after each of its
instructions.

A tensor that `vm.builtin.alloc_tensor` has just made and that no call has taken yet is an output of
the call that takes it: nothing can be in it. So inputs are never poisoned, whatever a function is
called, however many outputs it has, and whether its storage was used before.

Memory that a function allocates for itself no instrument sees: there the build puts in the poison
(`Poison.own`). A sum that is never set to zero was right, once in some hundred runs, as the memory
held zeros.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import tvm
from tvm import tirx

from grader.inside.common.failure import TaskError

_BUILTIN = "vm.builtin."
_ALLOCATE = "vm.builtin.alloc_tensor"
_CONTINUE = 0

# Signalling NaNs: arithmetic makes them quiet ones, so bits that are still these were never
# computed.
_POISON: dict[Any, tuple[type[np.unsignedinteger[Any]], int]] = {
    np.dtype("float16"): (np.uint16, 0x7D2A),
    np.dtype("float32"): (np.uint32, 0x7FA5A5A5),
    np.dtype("float64"): (np.uint64, 0x7FF5A5A5A5A5A5A5),
}
_FLOATS = {str(each) for each in _POISON}
_OTHER_POISON: tuple[type[np.unsignedinteger[Any]], int] = (np.uint8, 0xA5)


class Poison:
    """An instrument for `VirtualMachine.set_instrument`.

    `unwritten` names the functions, in order of discovery, that left an output entirely poisoned
    although none of their inputs was. Where memory is to be `cleared`, outputs are filled with
    zeros: that shows what comes of the poison and of nothing else.
    """

    def __init__(self, *, cleared: bool = False) -> None:
        self.unwritten: list[str] = []
        self.cleared = cleared
        self._fresh: dict[int, Any] = {}
        self._pending: list[Any] = []

    def reset(self) -> None:
        """Forget tensors of an earlier run."""
        self._fresh.clear()
        self._pending.clear()

    def awaits(self, tensor: Any) -> bool:
        """Say whether the call that is going on is to write this tensor."""
        return any(tensor.__chandle__() == output.__chandle__() for output in self._pending)

    def own(self, buffer: Any) -> Any:
        """Return the statement that fills a buffer of a lowered function's own, item by item.

        Its NaN are quiet ones: what is computed with them was computed, and is no poison.
        """
        item = tirx.const(0, buffer.dtype) if self.cleared else _own_poison(buffer.dtype)
        places = [tirx.Var("place", extent.ty.dtype) for extent in buffer.shape]
        statement = tirx.BufferStore(buffer, item, places)
        for place, extent in zip(reversed(places), reversed(buffer.shape), strict=True):
            zero = tirx.const(0, extent.ty.dtype)
            statement = tirx.For(place, zero, extent, tirx.ForKind.SERIAL, statement)
        return statement

    def __call__(
        self, _function: Any, name: str, before_run: bool, result: Any, *arguments: Any
    ) -> int:
        """Be called by the virtual machine; the answer 0 lets it go on."""
        if name.startswith(_BUILTIN):
            if name == _ALLOCATE and not before_run:
                self._fresh[result.__chandle__()] = result
            elif self._fresh and name != _ALLOCATE:
                self._take(arguments)
        elif before_run:
            self._before(arguments)
        else:
            self._after(name, arguments)
        return _CONTINUE

    def _take(self, arguments: tuple[Any, ...]) -> list[Any]:
        """Return those arguments that are fresh; they are not fresh any more."""
        tensors = [each for each in arguments if isinstance(each, tvm.runtime.Tensor)]
        return [each for each in tensors if self._fresh.pop(each.__chandle__(), None) is not None]

    def _before(self, arguments: tuple[Any, ...]) -> None:
        outputs = self._take(arguments)
        for output in outputs:
            _check_alias(output, arguments)
            fill(output, cleared=self.cleared)
        self._pending = outputs

    def _after(self, name: str, arguments: tuple[Any, ...]) -> None:
        outputs, self._pending = self._pending, []
        if name in self.unwritten or not any(is_poisoned(output) for output in outputs):
            return
        taken = {output.__chandle__() for output in outputs}
        tensors = [each for each in arguments if isinstance(each, tvm.runtime.Tensor)]
        inputs = [each for each in tensors if each.__chandle__() not in taken]
        if not any(is_poisoned(each) for each in inputs):
            self.unwritten.append(name)


def fill(tensor: Any, *, cleared: bool = False) -> None:
    """Fill a tensor of the CPU with its dtype's poison, or with zeros."""
    bits, poison = _bits(tensor)
    bits.fill(0 if cleared else poison)


def is_poisoned(tensor: Any) -> bool:
    """Say whether a tensor has elements and all of them are poison."""
    bits, poison = _bits(tensor)
    return bool(bits.size and bits[0] == poison and bits[-1] == poison and (bits == poison).all())


def _own_poison(dtype: Any) -> Any:
    """Return the poison of one item, which a vector may be.

    Behind TVM's passes shorter floating-point numbers are unsigned integers: there it is all bits.
    """
    item = str(dtype).split("x")[0]
    if item in _FLOATS:
        value = tirx.const(float("nan"), item)
    elif item.startswith("int"):
        value = tirx.const(int.from_bytes(b"\xa5" * (dtype.bits // 8), "big", signed=True), item)
    else:
        value = tirx.const(True) if item == "bool" else tirx.max_value(item)
    return value if dtype.lanes == 1 else tirx.Broadcast(value, dtype.lanes)


def _bits(tensor: Any) -> tuple[npt.NDArray[np.unsignedinteger[Any]], np.unsignedinteger[Any]]:
    """Return a flat view of a tensor as unsigned integers, and the poison that belongs to it."""
    array = np.from_dlpack(tensor).reshape(-1)
    kind, poison = _POISON.get(array.dtype, _OTHER_POISON)
    return array.view(kind), kind(poison)


def _check_alias(output: Any, arguments: tuple[Any, ...]) -> None:
    """Raise TaskError when an output shares memory with an input, which poison would destroy."""
    own, start, end = output.__chandle__(), *_extent(output)
    for each in arguments:
        if not isinstance(each, tvm.runtime.Tensor) or each.__chandle__() == own:
            continue
        other_start, other_end = _extent(each)
        if start < other_end and other_start < end:
            raise TaskError("run", "SharedBuffer", "An output shares its memory with an input.")


def _extent(tensor: Any) -> tuple[int, int]:
    start = tensor.data_ptr()
    return start, start + np.from_dlpack(tensor).nbytes
