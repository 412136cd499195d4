"""Messages that cross a process boundary: the one module that both sides of a sandbox share.

A message is a frame: eight bytes of little-endian length, then MessagePack of a tagged struct.
Decoding is strict: unknown fields, wrong types and lengths over the cap raise; nothing is executed.

Which process writes what:

    referee ──KernelConfig──────────▶ student kernel ──Capture | CaptureFailure──▶ referee
    referee ──RunModule | TimeSchedule──▶ runner ──RunResult | TimingResult | TaskFailure──▶ referee
    runner ──LoadExtern | Evaluate──▶ evaluator
    evaluator ──ExternLoaded | Evaluated | EvaluationFailed──▶ runner

It is loaded in every sandbox: it imports nothing of the grader.
"""

from __future__ import annotations

import math
import struct
import threading
from typing import Annotated, Literal, Protocol, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt

KERNEL_FRAME_LIMIT = 64 * 2**20
"""Largest frame accepted from a student kernel, in bytes: a 3 MB model and its externs fit well."""

RUNNER_FRAME_LIMIT = 512 * 2**20
"""Largest frame accepted from or sent to a runner, in bytes: ten thousand images are 31 MB."""

READY = bytes(8)
"""An empty frame: the first thing that a runner or an evaluator writes, once it can be asked."""
EXTERN_DIED = "ExternDied"
"""Name of the error of a task whose evaluator's process has ended."""

# Lengths are checked before the decoder makes room, so a short frame cannot claim a huge container.
Shape = Annotated[tuple[int, ...], msgspec.Meta(max_length=32)]
Names = Annotated[tuple[str, ...], msgspec.Meta(max_length=4096)]
Counts = Annotated[dict[str, int], msgspec.Meta(max_length=4096)]
Pickles = Annotated[dict[str, bytes], msgspec.Meta(max_length=1024)]
Count = Annotated[int, msgspec.Meta(ge=0)]
Seconds = Annotated[float, msgspec.Meta(gt=0, le=3600)]

_HEADER = struct.Struct("<Q")
_LEARNING = threading.Lock()
_ITEM_SIZE = {"float32": 4, "float64": 8, "int64": 8, "int32": 4, "uint8": 1}

DType = Literal[
    "float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32",
    "uint64", "bool"]  # fmt: skip
"""Dtypes of the tensors that external functions take and write: all that NumPy and TVM share."""


class FrameError(Exception):
    """Raised when a frame is cut off, too long, or not the message that was expected."""


class Message(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=True):
    """Base of all messages."""


class Array(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A dense array in C order: `data` holds the items of `dtype` as little-endian bytes."""

    dtype: Literal["float32", "float64", "int64", "int32", "uint8"]
    shape: Shape
    data: bytes


def pack_array(values: npt.NDArray[np.generic]) -> Array:
    """Copy a NumPy array into a message. Raises KeyError for a dtype that no message carries."""
    dtype = str(values.dtype)
    if dtype not in _ITEM_SIZE:
        raise KeyError(dtype)
    contiguous = np.ascontiguousarray(values)
    return Array(dtype=dtype, shape=tuple(values.shape), data=contiguous.tobytes())  # type: ignore[arg-type]


def unpack_array(array: Array) -> npt.NDArray[np.generic]:
    """Return a fresh, writable NumPy array. Raises FrameError if bytes and shape do not agree."""
    if any(extent < 0 for extent in array.shape):
        raise FrameError("array with a negative extent")
    if math.prod(array.shape) * _ITEM_SIZE[array.dtype] != len(array.data):
        raise FrameError("array whose bytes do not fill its shape")
    try:
        flat: npt.NDArray[np.generic] = np.frombuffer(array.data, dtype=array.dtype)
        return np.array(flat.reshape(array.shape))
    except ValueError:  # an empty array may still claim extents that no array can have
        raise FrameError("array with an extent that is too large") from None


# --- referee to student kernel --------------------------------------------------------------------


class EntrySpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the capture looks for on behalf of one part.

    `kind` is "function" for an entry point that is called without arguments and returns an
    IRModule, "schedule" for a `Schedule` or a module that was scheduled. `names` are fnmatch
    patterns.
    """

    part: str
    kind: Literal["function", "schedule"]
    names: tuple[str, ...]


class KernelConfig(Message, frozen=True):
    """Sent once, before the first cell. Descriptors are numbers in the kernel's own table.

    `sockets` are listening unix sockets for shell, iopub, stdin, control and heartbeat, in this
    order; `key` signs the Jupyter messages; captures are written to `capture_descriptor`.
    """

    sockets: tuple[int, int, int, int, int]
    key: str
    capture_descriptor: int
    entries: tuple[EntrySpec, ...]


# --- student kernel to referee --------------------------------------------------------------------


class Capture(Message, frozen=True):
    """A candidate for one part, as it was at the end of a cell.

    `cell` counts the code cells that were run, from 1. `module` and `base` are TVM's graph JSON,
    `base` is the module as it was when its `Schedule` was made; `trace` is the schedule's trace as
    JSON. `externs` maps a registered name to the Python function, pickled by value: only an
    evaluator may load it. `by_name` is false when the object was found by a hook and not
    by its name.
    """

    part: str
    name: str
    cell: int
    by_name: bool
    module: bytes
    base: bytes | None = None
    trace: bytes | None = None
    externs: Pickles = {}


class CaptureFailure(Message, frozen=True):
    """An entry point was there, but no module came out of it.

    `line` is the line within the cell that defined the function where the error was raised, if
    known.
    """

    part: str
    name: str
    cell: int
    reason: Literal[
        "raised", "not_a_module", "needs_arguments", "cannot_be_saved", "extern_not_portable"
    ]
    error_name: str = ""
    message: str = ""
    line: int | None = None


FromKernel = Capture | CaptureFailure

# --- referee to runner ----------------------------------------------------------------------------


class RunModule(Message, frozen=True):
    """Build `module` for `target` and run its `main` on every batch of `inputs`.

    `inputs` has shape (batches, *input shape of main). Output buffers of every function are filled
    with NaN before each call. `externs` are pickled Python functions: a runner has its evaluator
    load them, and one without an evaluator refuses. `stubs` are names that get a function of the
    runner's own instead, which fills its outputs from a generator seeded with the given number: a
    referee asks for two different seeds to see whether a model depends on them.
    """

    module: bytes
    inputs: Array
    target: str
    threads: int
    externs: Pickles = {}
    stubs: Counts = {}


class TimeSchedule(Message, frozen=True):
    """Time one PrimFunc of `module` against the assignment's own baseline and reference.

    `workload` is the text of the assignment's `workload.py`; `function` the name of the PrimFunc;
    `data` has a leading axis over inputs, of which each round takes the next `ring` in turn;
    `weight` and `bias` are the same in all, `bias` is one-dimensional and reshaped to what the
    function takes. All three are compiled for `target` ("host" for the CPU at hand) and measured on
    `cpus`, with as many threads. The reference is the one made for `threads` threads, which are at
    least as many. A block lasts about `block_seconds` of the baseline, by a number of calls that is
    drawn for each round; rounds go on until `maximum_rounds` or `budget_seconds`, but at least
    `minimum_rounds`.
    """

    workload: str
    module: bytes
    function: str
    data: Array
    weight: Array
    bias: Array
    ring: int
    target: str
    cpus: tuple[int, ...]
    threads: int
    seed: int
    minimum_rounds: int
    maximum_rounds: int
    block_seconds: float
    budget_seconds: float


# --- runner to referee ----------------------------------------------------------------------------


class RunResult(Message, frozen=True):
    """Outputs of all batches, shape (batches, *output shape), and what was noticed on the way.

    `unwritten` names functions that left their poisoned output untouched, `calls` counts calls of
    externs. Both are the runner's own observations: no student Python is in its process.
    """

    outputs: Array
    unwritten: Names = ()
    calls: Counts = {}


class TimingRound(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Seconds per call of one interleaved round, and whether it was disturbed.

    `switches` counts involuntary context switches of the process during the three blocks; `ring` is
    the place in `data` of the last input of the submission's block, whose output is kept.
    """

    ring: Count
    baseline: Seconds
    submission: Seconds
    reference: Seconds
    switches: Count


class TimingResult(Message, frozen=True):
    """What a runner measured. `outputs` are the submission's timed outputs, one a round.

    `fused` names the variant of the workload that the function computes ("conv2d", "conv2d_bias",
    ...). `target` is the TVM target that all three were compiled for; `calls` is the mean
    number of calls in a timed block, chosen from the baseline alone.
    """

    fused: str
    target: str
    calls: int
    rounds: Annotated[tuple[TimingRound, ...], msgspec.Meta(max_length=100_000)]
    outputs: Array


class TaskFailure(Message, frozen=True):
    """The task could not be done. `stage` says where, the rest is the error, shortened."""

    stage: Literal["decode", "load", "build", "externs", "signature", "run", "time"]
    error_name: str
    message: str


ToRunner = RunModule | TimeSchedule
FromRunner = RunResult | TimingResult | TaskFailure

# --- runner to evaluator and back -----------------------------------------------------------------


class Tensor(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=True):
    """A dense array in C order. Its bytes follow the frame, in the order of the message's tensors.

    They are outside of the frame so that they are copied once, into the array they are to be. An
    evaluator keeps a copy under the number `keep`, unless that is 0.
    """

    dtype: DType
    shape: Shape
    keep: Count = 0


class Kept(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=True):
    """The tensor that was kept under this number. It has no bytes."""

    number: Count


class Output(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=True):
    """An array that the function is to write. It travels without bytes and arrives poisoned."""

    dtype: DType
    shape: Shape


class Extents(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=True):
    """A shape that a function takes as such."""

    values: Shape


Argument = Tensor | Kept | Output | Extents | bool | int | float | str | None


class LoadExtern(Message, frozen=True):
    """Unpickle one external function, which is called by this name from now on."""

    name: str
    pickle: bytes


class Evaluate(Message, frozen=True):
    """Call one function. `call` numbers the calls of a task from 1."""

    call: Count
    name: str
    arguments: Annotated[tuple[Argument, ...], msgspec.Meta(max_length=1024)]


class ExternLoaded(Message, frozen=True):
    """The function is there and can be called."""


class Evaluated(Message, frozen=True):
    """What a call left in its outputs, in their order among the arguments."""

    call: Count
    outputs: Annotated[tuple[Tensor, ...], msgspec.Meta(max_length=1024)]


class EvaluationFailed(Message, frozen=True):
    """A function could not be loaded (`call` is 0), or raised. `message` is the error's text."""

    call: Count
    error_name: str
    message: str


ToEvaluator = LoadExtern | Evaluate
FromEvaluator = ExternLoaded | Evaluated | EvaluationFailed

# --- frames ---------------------------------------------------------------------------------------

T = TypeVar("T")


class Stream(Protocol):
    """What frames are read from: `recv(n)` as of a socket."""

    def recv(self, size: int, /) -> bytes:
        """Return up to `size` bytes; empty at the end of the stream."""
        ...


def encode_frame(message: Message) -> bytes:
    """Return a message as one frame."""
    payload = msgspec.msgpack.encode(message)
    return _HEADER.pack(len(payload)) + payload


def decode_payload(payload: bytes, expected: type[T]) -> T:
    """Decode the bytes of one frame strictly. Raises FrameError."""
    # msgspec learns a struct's types when it is first decoded, and crashes when two threads meet
    # there: so one thread learns, and the others wait. Decoding itself needs no lock.
    with _LEARNING:
        decoder = msgspec.msgpack.Decoder(expected)
    try:
        return decoder.decode(payload)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise FrameError(f"not a message: {error}") from None


def read_frame(stream: Stream, limit: int) -> bytes | None:
    """Read one frame's payload, or None at the end of the stream. Raises FrameError."""
    header = _read_exactly(stream, _HEADER.size)
    if header is None:
        return None
    length: int = _HEADER.unpack(header)[0]
    if length > limit:
        raise FrameError(f"frame of {length} bytes, {limit} are allowed")
    payload = _read_exactly(stream, length)
    if payload is None:
        raise FrameError("stream ended inside a frame")
    return payload


def _read_exactly(stream: Stream, size: int) -> bytes | None:
    chunks = bytearray()
    while len(chunks) < size:
        chunk = stream.recv(min(size - len(chunks), 2**20))
        if not chunk and not chunks:
            return None
        if not chunk:
            raise FrameError("stream ended inside a frame")
        chunks += chunk
    return bytes(chunks)
