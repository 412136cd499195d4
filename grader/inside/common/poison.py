"""The instrument that fills every output buffer before the call that is to write it.

A function in destination-passing style gets memory that somebody used before. One that never writes
its output, or adds to it without setting it first, may look right on stale memory: on a poisoned
buffer both show. The virtual machine calls the instrument before and after each of its
instructions.

A tensor that `vm.builtin.alloc_tensor` has just made and that no call has taken yet is an output of
the call that takes it: nothing can be in it. So inputs are never poisoned, whatever a function is
called, however many outputs it has, and whether its storage was used before.

Integers have no NaN: what they are filled with instead changes from item to item and from call to
call (`grader.messages.integer_poison` says why). NaN do not show everything either: `T.max(y, x)`,
as LLVM has it, is x where y is NaN, so that a maximum which is never initialised was right. In the
call `REPEATED`, which is made once more at the end, floats are filled with large numbers, of either
sign in turn: what depends on them gives another output than before.

Memory that a function allocates for itself no instrument sees: there the build puts in the poison
(`Poison.own`). A sum that is never set to zero was right, once in some hundred runs, as the memory
held zeros.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import tvm
from tvm import tirx

from grader.inside.common.failure import TaskError
from grader.messages.frames import BFLOAT16, number_type
from grader.messages.runner import integer_poison

# TVM's tensors as NumPy arrays, of every dtype that messages carry.


def as_array(tensor: Any) -> npt.NDArray[Any]:
    """Return a writable view of a tensor of the CPU.

    Raises RuntimeError where NumPy has no such dtype, and neither has ml_dtypes.
    """
    if str(tensor.dtype) != BFLOAT16:
        return np.from_dlpack(tensor)
    # NumPy refuses bfloat16 of others, though it can hold it: the same bytes under another name.
    bits = np.from_dlpack(tensor._create_view(list(tensor.shape), "uint16"))
    return bits.view(number_type(BFLOAT16))


_BUILTIN = "vm.builtin."
_ALLOCATE = "vm.builtin.alloc_tensor"
_CONTINUE = 0

# Signalling NaNs: arithmetic makes them quiet ones, so bits that are still these were never
# computed.
_POISON: dict[Any, tuple[type[np.unsignedinteger[Any]], int]] = {
    np.dtype("float16"): (np.uint16, 0x7D2A),
    np.dtype("float32"): (np.uint32, 0x7FA5A5A5),
    np.dtype("float64"): (np.uint64, 0x7FF5A5A5A5A5A5A5),
    number_type(BFLOAT16): (np.uint16, 0x7FA5),
}
_FLOATS = {str(each) for each in _POISON}

REPEATED = 2**31 - 2
"""The number of the call that repeats the first one. As that one it is even: what integers are
filled with has been exchanged in the calls between them."""

_LARGE = {"float16": 3e4, "bfloat16": 1e38, "float32": 1e38, "float64": 1e308}
"""What floats are filled with in that call: smaller than the largest, to be added to."""


class Poison:
    """An instrument for `VirtualMachine.set_instrument`.

    `unwritten` names the functions, in order of discovery, that left an output entirely poisoned
    although none of their inputs was: integers at every call, as at one of them the right numbers
    may be those. `call` is the number of the call that is going on. Where memory is to be
    `cleared`, outputs are filled with zeros: that shows what comes of the poison and of nothing
    else.
    """

    def __init__(self, *, cleared: bool = False) -> None:
        self.unwritten: list[str] = []
        self.cleared = cleared
        self._call = np.zeros(1, np.int64)
        self._wrote: set[str] = set()
        self._fresh: dict[int, Any] = {}
        self._pending: list[Any] = []

    def reset(self, call: int = 0) -> None:
        """Forget tensors of an earlier run; this is call number `call`."""
        self._call[0] = call
        self._fresh.clear()
        self._pending.clear()

    @property
    def call(self) -> int:
        """Return the number of the call that is going on."""
        return int(self._call[0])

    def awaits(self, tensor: Any) -> bool:
        """Say whether the call that is going on is to write this tensor."""
        return any(tensor.__chandle__() == output.__chandle__() for output in self._pending)

    def own(self, buffer: Any) -> Any:
        """Return the statement that fills a buffer of a lowered function's own, item by item.

        Its NaN are quiet ones: what is computed with them was computed, and is no poison.
        """
        if self.cleared:
            return _filled(buffer, lambda _: tirx.const(0, buffer.dtype))
        declared, call = self._number_of_call()
        if str(buffer.dtype).split("x")[0] not in _FLOATS:
            filled = _filled(buffer, lambda places: _own_integer(buffer.dtype, places, call))
            return tirx.SeqStmt([declared, filled])
        is_repeated = tirx.EQ(call, tirx.const(REPEATED, "int64"))
        others = _filled(buffer, lambda _: tirx.const(float("nan"), buffer.dtype))
        large = _filled(buffer, lambda places: _large_float(buffer.dtype, places))
        return tirx.SeqStmt([declared, tirx.IfThenElse(is_repeated, large, others)])

    def _number_of_call(self) -> tuple[Any, Any]:
        """Return the declaration of the memory that has the call's number, and that number."""
        memory = tirx.decl_buffer((1,), "int64", name="grader_call")
        address = tirx.const(int(self._call.ctypes.data), "int64")
        pointer = tvm.ir.Call("tirx.reinterpret", [address], ret_ty=memory.data.ty)
        return tirx.DeclBuffer(memory, data=pointer), memory[tirx.const(0, "int64")]

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
            fill(output, cleared=self.cleared, call=self.call)
        self._pending = outputs

    def _after(self, name: str, arguments: tuple[Any, ...]) -> None:
        outputs, self._pending = self._pending, []
        left = [output for output in outputs if is_poisoned(output, self.call)]
        if outputs and not any(str(each.dtype) in _FLOATS for each in outputs):
            self._note_integers(name, is_left=bool(left))
        if name in self.unwritten or name in self._wrote or not left:
            return
        taken = {output.__chandle__() for output in outputs}
        tensors = [each for each in arguments if isinstance(each, tvm.runtime.Tensor)]
        inputs = [each for each in tensors if each.__chandle__() not in taken]
        if not any(is_poisoned(each, self.call) for each in inputs):
            self.unwritten.append(name)

    def _note_integers(self, name: str, *, is_left: bool) -> None:
        if not is_left:
            self._wrote.add(name)
            self.unwritten = [each for each in self.unwritten if each != name]


def fill(tensor: Any, *, cleared: bool = False, call: int = 0) -> None:
    """Fill a tensor of the CPU with its dtype's poison for a call, or with zeros."""
    bits, poison = _bits(tensor, call)
    bits[:] = 0 if cleared else poison


def is_poisoned(tensor: Any, call: int = 0) -> bool:
    """Say whether a tensor has elements and all of them are the poison of a call."""
    bits, poison = _bits(tensor, call)
    return bool(bits.size and bits[0] == poison[0] and (bits == poison).all())


def _filled(buffer: Any, item: Callable[[Sequence[Any]], Any]) -> Any:
    """Return the loops that set each item of a buffer to what `item` has for its place."""
    places = [tirx.Var("place", extent.ty.dtype) for extent in buffer.shape]
    statement = tirx.BufferStore(buffer, item(places), places)
    for place, extent in zip(reversed(places), reversed(buffer.shape), strict=True):
        zero = tirx.const(0, extent.ty.dtype)
        statement = tirx.For(place, zero, extent, tirx.ForKind.SERIAL, statement)
    return statement


def _own_integer(dtype: Any, places: Sequence[Any], call: Any) -> Any:
    """Return the poison of the item at a place, which a vector may be: one of two numbers in turn.

    Behind TVM's passes shorter floating-point numbers are unsigned integers: of their length both
    numbers are NaN, all bits and all but the sign.
    """
    name = str(dtype).split("x")[0]
    large, small = integer_poison(name, 2).tolist()
    if name in ("uint8", "uint16"):
        large, small = 2**dtype.bits - 1, 2 ** (dtype.bits - 1) - 1
    value = tirx.Select(_is_even(places, call), tirx.const(large, name), tirx.const(small, name))
    return _spread(value, dtype)


def _large_float(dtype: Any, places: Sequence[Any]) -> Any:
    """Return the poison of the item at a place in the call that is repeated."""
    name = str(dtype).split("x")[0]
    large, small = (tirx.const(sign * _LARGE[name], name) for sign in (1, -1))
    even = _is_even(places, tirx.const(0, "int64"))
    return _spread(tirx.Select(even, large, small), dtype)


def _is_even(places: Sequence[Any], call: Any) -> Any:
    turn = call
    for place in places:
        turn = turn + tirx.Cast("int64", place)
    return tirx.EQ(tirx.truncmod(turn, tirx.const(2, "int64")), tirx.const(0, "int64"))


def _spread(value: Any, dtype: Any) -> Any:
    return value if dtype.lanes == 1 else tirx.Broadcast(value, dtype.lanes)


def _bits(tensor: Any, call: int) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return a flat view of a tensor's items as integers, and the poison that belongs there."""
    array = as_array(tensor).reshape(-1)
    if array.dtype in _POISON:
        kind, poison = _POISON[array.dtype]
        if call == REPEATED:
            large = _LARGE[str(array.dtype)]
            finite = np.array([large, -large]).astype(array.dtype)
            return array.view(kind), np.resize(finite.view(kind), array.shape)
        return array.view(kind), np.broadcast_to(kind(poison), array.shape)
    return array, integer_poison(str(array.dtype), array.size, call)


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
    return start, start + as_array(tensor).nbytes
