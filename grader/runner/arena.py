"""The arrays that timed functions work on, and which of them a function's parameters stand for."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import tvm

from grader.messages import Array, FrameError, unpack_array
from grader.runner.failure import TaskError

Shape = tuple[int, ...]

ALIGNMENT = 64
"""What TVM demands of the address of an array, in bytes."""


PLACES = 4096
"""Places that a tensor may be moved to, `ALIGNMENT` apart: 64 pages of 64 lines."""

ITEM_SIZE = 4
"""Bytes of a float32."""


class Signature(NamedTuple):
    """How a function takes its arrays: `roles` in the order of its parameters.

    A role is "data", "weight", "bias" or "output"; `bias_shape` is empty where there is no bias.
    """

    roles: tuple[str, ...]
    bias_shape: Shape


class Arrays(NamedTuple):
    """The referee's inputs as float32 arrays: `data` has a leading axis over all inputs."""

    data: npt.NDArray[np.float32]
    weight: npt.NDArray[np.float32]
    bias: npt.NDArray[np.float32]


def unpack_arrays(data: Array, weight: Array, bias: Array, ring: int) -> Arrays:
    """Unpack a task's arrays; `ring` inputs are to be there at a time. Raises FrameError."""
    arrays = [unpack_array(each) for each in (data, weight, bias)]
    if any(each.dtype != np.float32 or each.size == 0 for each in arrays):
        raise FrameError("timed inputs that are not float32, or empty")
    if arrays[0].ndim < 2 or arrays[2].ndim != 1:
        raise FrameError("timed inputs of the wrong number of axes")
    if not 2 <= ring <= len(arrays[0]):
        raise FrameError("a ring of fewer than two inputs, or of more than there are")
    return Arrays(*arrays)  # type: ignore[arg-type]


def read_signature(function: Any, arrays: Arrays, output_shape: Shape) -> Signature:
    """Tell a PrimFunc's parameters apart by their shapes, in whatever order they are.

    Raises TaskError unless they are the data, the weight, the output and at most one bias, all
    float32.
    """
    roles: list[str] = []
    bias_shape: Shape = ()
    known = {arrays.data.shape[1:]: "data", arrays.weight.shape: "weight", output_shape: "output"}
    for shape in parameter_shapes(function):
        role = known.get(shape)
        if role is None and math.prod(shape) == arrays.bias.size:
            role, bias_shape = "bias", shape
        roles.append(role or f"unknown {shape}")
    if sorted(roles) not in (["data", "output", "weight"], ["bias", "data", "output", "weight"]):
        message = f"The function takes {', '.join(roles)}; it should take data, weight and output."
        raise TaskError("signature", "WrongParameters", message)
    return Signature(tuple(roles), bias_shape)


def parameter_shapes(function: Any) -> list[Shape]:
    """Return the shapes of a PrimFunc's parameters. Raises TaskError unless they are float32."""
    shapes = []
    for parameter in function.params:
        buffer = parameter.ty
        if not isinstance(buffer, tvm.tirx.BufferType) or str(buffer.dtype) != "float32":
            message = f"Parameter {parameter.name} is not a float32 array."
            raise TaskError("signature", "WrongParameters", message)
        if not all(isinstance(extent, tvm.tirx.IntImm) for extent in buffer.shape):
            message = f"The shape of parameter {parameter.name} is not fixed."
            raise TaskError("signature", "WrongParameters", message)
        shapes.append(tuple(int(extent) for extent in buffer.shape))
    return shapes


class Arena:
    """The tensors that all timed functions share, so that none has a better place in memory.

    `data` holds the ring as rows of shape (ring, row), each padded to the alignment: `ring` inputs
    at a time, from `start` on. The originals are kept aside: before each block the tensors are made
    anew, whatever a function did to them.

    Where tensors lie decides about ten per cent of a function's time, by the low bits of their
    addresses and by which lines of the cache their pages share (T. Mytkowicz et al., "Producing
    wrong data without doing anything obviously wrong!", 2009). So each turn moves them within slabs
    of memory, and the median over rounds is one over places.
    """

    def __init__(self, arrays: Arrays, ring: int, bias_shape: Shape, output_shape: Shape) -> None:
        self.ring = ring
        self.start = 0
        self.shapes: dict[str, Shape] = {
            "data": arrays.data.shape[1:],
            "weight": arrays.weight.shape,
            "bias": bias_shape or arrays.bias.shape,
            "output": output_shape,
        }
        flat = arrays.data.reshape(len(arrays.data), -1)
        step = ALIGNMENT // flat.itemsize
        padding = -flat.shape[1] % step
        self._inputs = np.pad(flat, ((0, 0), (0, padding)))
        self._originals = {
            "data": self._inputs[:ring],
            "weight": arrays.weight,
            "bias": arrays.bias.reshape(self.shapes["bias"]),
            "output": np.full(output_shape, np.nan, np.float32),
        }
        self.row = self._inputs.shape[1]
        self._slabs = {role: _slab(original) for role, original in self._originals.items()}
        self.tensors: dict[str, Any] = {}
        self._views: dict[str, npt.NDArray[np.float32]] = {}
        self._place(dict.fromkeys(self._slabs, 0))
        self.restore()

    def take_turn(self, turn: int, generator: np.random.Generator) -> None:
        """Let the ring be the inputs of a turn, and move all tensors to places drawn at random.

        Inputs are there once the arena is restored.
        """
        self.start = turn % (len(self._inputs) // self.ring) * self.ring
        self._originals["data"] = self._inputs[self.start : self.start + self.ring]
        self._place({role: int(generator.integers(PLACES)) for role in self._slabs})

    def _place(self, places: dict[str, int]) -> None:
        for role, place in places.items():
            shape = self._originals[role].shape
            start = place * ALIGNMENT // ITEM_SIZE
            view = self._slabs[role][start : start + math.prod(shape)].reshape(shape)
            self._views[role] = view
            self.tensors[role] = tvm.runtime.from_dlpack(view)

    def is_untouched(self) -> bool:
        """Say whether all inputs are bit for bit what they were when they were restored."""
        return all(
            self._views[role].tobytes() == original.tobytes()
            for role, original in self._originals.items()
            if role != "output"
        )

    def restore(self) -> None:
        """Write all inputs anew and fill the output with NaN."""
        for role, original in self._originals.items():
            np.copyto(self._views[role], original)

    def output(self) -> npt.NDArray[np.float32]:
        """Return a copy of the output."""
        return np.array(self._views["output"], np.float32)


def _slab(original: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Return aligned memory for an array at any of its places."""
    slack = (PLACES + 1) * ALIGNMENT // ITEM_SIZE
    memory = np.zeros(original.size + slack, np.float32)
    skipped = -memory.ctypes.data % ALIGNMENT // ITEM_SIZE
    return memory[skipped:]
