"""What the referee and the student's kernel say to each other."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from grader.messages.frames import Message, Pickles

SOURCE_LIMIT = 64 * 1024
"""Longest text of a Python function that travels with it, in characters."""


class ModelSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A PyTorch model that an importer is to import, or a pass to rewrite.

    `code` is the text of the course's `models.py`, whose `MODELS[name](seed)` makes the model.
    `shapes` are those of its inputs, `dtype` is float32.
    """

    code: str
    name: str
    seed: int
    shapes: tuple[tuple[int, ...], ...]


ArgumentMeaning = Literal["parameters", "batch_size", "input_shape", "image", "module"]


class ArgumentSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What an entry point is given for a parameter whose name the notebook does not have.

    `names` are fnmatch patterns. "parameters" is the dictionary of arrays in `file`. `shape` is
    that of a batch of inputs: "batch_size" is its first extent, "input_shape" all of it, "image"
    is an array of it, float32 from 0 to 1. "module" is the last module of `part` that the notebook
    had under a name that was asked for.
    """

    meaning: ArgumentMeaning
    names: tuple[str, ...]
    shape: tuple[int, ...] = ()
    file: str = ""
    part: str = ""


class EntrySpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the capture looks for on behalf of one part.

    `kind` is "function" for an entry point that is called without arguments and returns an
    IRModule, "module" for one that is bound to a name, "schedule" for a `Schedule` or a module that
    was scheduled, "python" for a function that computes with NumPy, "importer" for one that is
    called with a traced model and its input shapes, "pass" for what is applied to an imported
    model, "space" for what makes a schedule of the "module" of `arguments`. `names` are fnmatch
    patterns.

    `holds` says what counts as a module: one with a Relax `main` ("model"), or any that has a
    PrimFunc, and a PrimFunc by itself ("function"). `model` is for importers and passes.
    `arguments` are what functions other than these are given.
    """

    part: str
    kind: Literal["function", "module", "schedule", "space", "python", "importer", "pass"]
    names: tuple[str, ...]
    holds: Literal["model", "function"] = "model"
    model: ModelSpec | None = None
    arguments: tuple[ArgumentSpec, ...] = ()


class KernelConfig(Message, frozen=True):
    """Sent once, before the first cell. Descriptors are numbers in the kernel's own table.

    `sockets` are listening unix sockets for shell, iopub, stdin, control and heartbeat, in this
    order; `key` signs the Jupyter messages; captures are written to `capture_descriptor`.
    `compatibility` asks for old names of TVM that no rewrite of the notebook supplies. A cell may
    put out `cell_bytes`, all cells `total_bytes`; the rest is cut. `preamble` is code of the course
    that is run before the first cell. `is_script` says that the submission was no notebook.
    """

    sockets: tuple[int, int, int, int, int]
    key: str
    capture_descriptor: int
    entries: tuple[EntrySpec, ...]
    compatibility: bool = False
    cell_bytes: int = 8 * 2**20
    total_bytes: int = 32 * 2**20
    preamble: str = ""
    is_script: bool = False


class LoopVariable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A loop's variable `name` that a block uses in place of an axis of its own.

    `axis` is the axis that the block has for it. It is empty where there is none: one of this
    `kind` and `extent` is to be declared then. What is longer is not told of.
    """

    block: Annotated[str, msgspec.Meta(max_length=80)]
    function: Annotated[str, msgspec.Meta(max_length=80)]
    name: Annotated[str, msgspec.Meta(max_length=40)]
    axis: Annotated[str, msgspec.Meta(max_length=40)] = ""
    kind: Literal["spatial", "reduce"] = "spatial"
    extent: Annotated[str, msgspec.Meta(max_length=60)] = ""
    others: Annotated[tuple[LoopVariable, ...], msgspec.Meta(max_length=2)] = ()


REFUSED_SIZE_LIMIT = 4 * 2**20
"""Largest module in bytes that is told of though TVM has refused it."""

Refused = Annotated[bytes, msgspec.Meta(max_length=REFUSED_SIZE_LIMIT)]

NoteKind = Literal[
    "cut",
    "asked",
    "restarted",
    "drawn",
    "loop_variable",
    "refused_loop_variable",
    "refused_module",
]


class KernelNote(Message, frozen=True):
    """What the kernel did on a cell's behalf, for a note in the report.

    "cut": what the cell put out was cut. "asked": a question was answered with an empty line.
    "restarted": the cell wanted a new kernel, and went on in this one. "drawn": drawings are in the
    notebook, not in the window or the widget that was asked for. "loop_variable": a block that uses
    a loop's variable was let pass, as by an earlier TVM. "refused_loop_variable": the cell ended in
    TVM's refusal of one. Both say which, where that is known. "refused_module": the cell ended in
    TVM's refusal of a module, which is `module`, as JSON.
    """

    kind: NoteKind
    cell: Annotated[int, msgspec.Meta(ge=0, le=100_000)]
    loop_variable: LoopVariable | None = None
    module: Refused = b""


LINE_LIMIT = 2000
"""Most lines of steps: a trace has no more instructions."""


class StepLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The line of a cell in which a step of a schedule was done, and its text, cut.

    Both count from 1; 0 where the line is not known.
    """

    cell: Annotated[int, msgspec.Meta(ge=0, le=100_000)] = 0
    line: Annotated[int, msgspec.Meta(ge=0, le=1_000_000)] = 0
    text: Annotated[str, msgspec.Meta(max_length=120)] = ""


class Capture(Message, frozen=True):
    """A candidate for one part, as it was at the end of a cell.

    `cell` counts the code cells that were run, from 1. `module` and `base` are TVM's graph JSON,
    `base` is the module as it was when its `Schedule` was made; `trace` is the schedule's trace as
    JSON, and `lines` say where each of its instructions was written; nothing is decided by them.
    `externs` maps a registered name to the Python function, pickled by value: only an
    evaluator may load it. `by_name` is false when the object was found by a hook and not
    by its name.

    Of a Python function that computes with NumPy, `module` is empty and `externs` holds the
    function under `PYTHON_FUNCTION`: it takes the arguments as NumPy arrays and returns an array.
    `source` is its text, as far as it is known, with what it calls of the notebook's functions.
    """

    part: str
    name: str
    cell: int
    by_name: bool
    module: bytes
    base: bytes | None = None
    trace: bytes | None = None
    externs: Pickles = msgspec.field(default_factory=dict)
    source: Annotated[str, msgspec.Meta(max_length=SOURCE_LIMIT)] = ""
    lines: Annotated[tuple[StepLine, ...], msgspec.Meta(max_length=LINE_LIMIT)] = ()


class CaptureFailure(Message, frozen=True):
    """An entry point was there, but no module came out of it. One that does nothing is unsolved.

    `line` is the line within the cell that defined the function where the error was raised, if
    known. `loop_variable` is there where the error was TVM's refusal of one, `refused` where it was
    that of a module, which it is as JSON.
    """

    part: str
    name: str
    cell: int
    reason: Literal[
        "raised",
        "unsolved",
        "not_a_module",
        "needs_arguments",
        "cannot_be_saved",
        "extern_not_portable",
        "other_type",
    ]
    error_name: str = ""
    message: str = ""
    line: int | None = None
    loop_variable: LoopVariable | None = None
    refused: Refused = b""


PYTHON_FUNCTION = "grader.python"
"""Name under which a captured Python function travels."""

FromKernel = Capture | CaptureFailure
"""What the capture says of parts."""

KernelMessage = FromKernel | KernelNote
"""All that comes from a student's kernel, apart from Jupyter's messages."""
