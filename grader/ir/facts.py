"""What the referee knows of a captured module, read off its JSON graph without TVM."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

import msgspec
from msgspec.structs import replace

from grader.language import Text

Shape = tuple["int | str", ...]
"""Extents of a tensor; a symbolic extent is its variable's name."""


LoopKind = Literal["serial", "parallel", "vectorized", "unrolled", "thread_binding"]


class Facts(msgspec.Struct, frozen=True):
    """Base of all facts: values that are compared by their fields, and never change."""


class TensorFacts(Facts, frozen=True):
    """Shape and dtype. `shape` is None where the module leaves it open."""

    shape: Shape | None
    dtype: str


class Argument(Facts, frozen=True):
    """One argument of a call: `kind` says where it is from, `name` is its variable (or empty).

    Aliases (`gv = lv`), matched shapes and elements of tuples are followed to where the value was
    made. `source` is the place in `ModuleFacts.calls` of the call that made it, if it was a call:
    two variables may have the same name, two calls do not have the same place.
    """

    kind: Literal["input", "constant", "value", "other"]
    name: str
    tensor: TensorFacts | None
    source: int | None = None


class Call(Facts, frozen=True):
    """One call bound in `main`, in order.

    `kind` is "tir" for call_tir (and its in-place form), "extern" for call_dps_packed and any other
    call of a packed function, "operator" for an operator of Relax, "function" for a call of another
    Relax function. `callee` is the function's, the extern's or the operator's name. `dataflow` says
    that the binding stands in a dataflow block, `is_in_place` that a call_tir has another form.
    """

    kind: Literal["tir", "extern", "operator", "function"]
    callee: str
    arguments: tuple[Argument, ...]
    result: TensorFacts | None
    binding: str
    dataflow: bool = False
    is_in_place: bool = False


class Loop(Facts, frozen=True):
    """One loop around a block, outermost first. `extent` is None when it is not a constant.

    `stages` has the stage of each statement in it where it is a software pipeline.

    What is read of one function has one object for each loop, wherever it is named.
    """

    variable: str
    extent: int | None
    kind: LoopKind
    stages: tuple[int, ...] = ()


class BufferFacts(Facts, frozen=True):
    """A buffer: a parameter of its function or an allocation inside it.

    A name that another buffer of the function had before it ends in a mark and a number (`pad'1`).
    """

    name: str
    tensor: TensorFacts


class Expression(Facts, frozen=True):
    """What is computed, as a tree. `kind` says what `name` and `arguments` are:

    | kind | name | arguments |
    |---|---|---|
    | `constant` | "" | none; `value` is the number, None for one that JSON does not have |
    | `variable` | of a block's iterator, a loop or a scalar parameter | none |
    | `load` | of the buffer | the index, one for each axis |
    | `operation` | `add`, `sub`, `mul`, `div`, `max`, `exp`, `select`, `cast`, ... | operands |
    | `bound` | of a name that was given a value before | that value, as it was computed then |
    | `other` | what it is, "..." for what was cut off | none |

    Names of operations are TVM's, in small letters. A tree has 512 nodes at most.
    """

    kind: Literal["constant", "variable", "load", "operation", "bound", "other"]
    name: str
    arguments: tuple[Expression, ...] = ()
    value: int | float | None = None
    dtype: str = ""

    def walk(self) -> Iterator[Expression]:
        """Yield this expression, and then all that it is made of, from the left."""
        pending = [self]
        while pending:
            each = pending.pop()
            yield each
            pending.extend(reversed(each.arguments))

    def uses(self, operation: str) -> bool:
        """Say whether an operation of this name is anywhere in it."""
        return any(each.kind == "operation" and each.name == operation for each in self.walk())

    @property
    def lanes(self) -> int:
        """How many numbers it has: more than one for a vector."""
        count = self.dtype.rpartition("x")[2] if "x" in self.dtype else ""
        return int(count) if count.isdecimal() else 1

    @property
    def loaded(self) -> frozenset[str]:
        """The buffers that are loaded anywhere in it, in an index too."""
        return frozenset(each.name for each in self.walk() if each.kind == "load")


class Store(Facts, frozen=True):
    """One store in a block's body, or in its init.

    `loads` names every buffer that is loaded for it, once for each load. `loops` are those of the
    loops around it, from the outside and within the block too, that its index or its value depends
    on, directly or by way of block iterators: in the others it does the same again. `axes` has,
    for each of these loops, the places of the index that depend on it, none for a loop of a sum.
    `lane_stride` says by how many elements two neighbouring lanes of the innermost vectorized loop
    are apart; None where there is none, or where that varies. `value` is what is stored, `index`
    where, one expression for each axis of the buffer, or of the part of it that has a name.
    """

    buffer: str
    loads: tuple[str, ...]
    loops: tuple[Loop, ...]
    axes: tuple[tuple[int, ...], ...] = ()
    lane_stride: int | None = None
    value: Expression | None = None
    index: tuple[Expression, ...] = ()


class Block(Facts, frozen=True):
    """One block of a scheduled function (SBlock), with the loops around it.

    `iterators` has one letter per block variable: S spatial, R reduction, O anything else.
    `has_init` says that the block initialises its reduction itself.
    `is_copy`: it stores what it loads from one buffer, unchanged but for padding (a padding block).
    `is_constant_store`: it stores a constant (the initialisation of a reduction).

    `loads` and `stores` are the buffers that its body (without the init) touches, whatever it
    declares; a part of a buffer that has its own name goes by the whole buffer's. `statements` are
    its stores one by one, `initial` those of its init. `predicated`: it runs under a condition, as
    after a split that does not divide. `parts` are the buffers of which a part has its own name in
    it, as after tensorize. `parent` is the place of the block around it in `FunctionFacts.blocks`.
    `extents` has each iterator's name and extent, None for one that does not begin at 0 or whose
    extent is no constant.
    """

    name: str
    iterators: str
    has_init: bool
    loops: tuple[Loop, ...]
    is_copy: bool = False
    is_constant_store: bool = False
    loads: tuple[str, ...] = ()
    stores: tuple[str, ...] = ()
    predicated: bool = False
    parts: tuple[str, ...] = ()
    parent: int | None = None
    statements: tuple[Store, ...] = ()
    initial: tuple[Store, ...] = ()
    extents: tuple[tuple[str, int | None], ...] = ()


class Finding(Facts, frozen=True):
    """Something that the allow-list refuses, or that may be refused elsewhere.

    `subject` is what was found, `where` the function it is in. `code` is the id of the sentence
    where it is a reason against a proof; a code of the allow-list may have several sentences.
    """

    code: str
    subject: str
    where: str
    message: Text

    @property
    def key(self) -> str:
        """Code and subject: what one kind of evidence may admit, and no other finding."""
        return f"{self.code}:{self.subject}"


class FunctionFacts(Facts, frozen=True):
    """One PrimFunc.

    `parameters` are buffers, or scalars of shape (). `allocations` are all, those inside of blocks
    too. `blocks` are in the order of the program, without the root block that TVM puts around them;
    there are none in flat TensorIR. `decisions` say by which buffers' contents it decides what it
    computes; they are no reason to refuse a module, but one not to time the function, as is
    `unguarded`: why running it under guard would not show that it stays inside its buffers. `form`
    is what all spellings of the same loops have in common (`form.py`). One that is `idle` stores
    nothing and calls nothing.
    """

    name: str
    parameters: tuple[BufferFacts, ...]
    allocations: tuple[BufferFacts, ...]
    blocks: tuple[Block, ...]
    decisions: tuple[Finding, ...] = ()
    unguarded: Finding | None = None
    form: str = ""
    idle: bool = False

    @property
    def stores(self) -> Iterator[Store]:
        """What its blocks store, each with its initialisation before the rest."""
        return (each for one in self.blocks for each in (*one.initial, *one.statements))


class GraphFacts(Facts, frozen=True):
    """One Relax function beside `main`, as what a pass has put a group of operators into.

    `calls` are its bindings in order. `primitive` says that it has TVM's mark for what is to become
    one function, the attribute `Primitive`.
    """

    calls: tuple[Call, ...]
    primitive: bool = False


class ModuleFacts(Facts, frozen=True):
    """A whole module. `inputs` and `output` are those of `main`, `calls` its bindings in order.

    `has_main` is true for a `main` of Relax only, and `result` says where its output comes from.
    `functions` are the PrimFuncs by name; `faults` are what makes the numbers of one worth nothing,
    whatever they are: an access that certainly leaves its buffer ("out_of_bounds"), iterations that
    overlap ("race"). Such a module may be run, under guard, and is not timed. `externs` names every
    external function that is called anywhere. `form` is that of a `main` of Relax, with what it
    calls. `graphs` are the other functions of Relax by name.
    `declared` are the inputs as `main` has them, where symbols of theirs were bound to extents
    (`bind_symbols`); None where there was nothing to bind.
    """

    has_main: bool
    inputs: tuple[BufferFacts, ...]
    output: TensorFacts | None
    calls: tuple[Call, ...]
    functions: Mapping[str, FunctionFacts]
    externs: tuple[str, ...]
    findings: tuple[Finding, ...]
    faults: tuple[Finding, ...] = ()
    result: Argument | None = None
    form: str = ""
    graphs: Mapping[str, GraphFacts] = {}
    declared: tuple[BufferFacts, ...] | None = None


# Symbolic shapes of a `main`, bound to those that the assignment calls it with.
#
# `R.Tensor(("n", "m"))` is what the caller makes of it. Checks that ask for a layer's weight by its
# shape, and the arrangement of calls, are told the shapes of the calls that will be made.


def bind_symbols(facts: ModuleFacts, wanted: Sequence[tuple[int | None, ...]]) -> ModuleFacts:
    """Return the facts with the symbols of `main`'s inputs replaced by their extents.

    `wanted` are the shapes of the arguments, in the order that is asked for. The same facts where
    the inputs do not fit them: then that is what is to be said.
    """
    symbols = _solve(facts, wanted) if facts.has_main else {}
    if not symbols:
        return facts
    output = facts.output and _tensor(facts.output, symbols)
    return replace(
        facts,
        declared=facts.inputs,
        inputs=tuple(replace(each, tensor=_tensor(each.tensor, symbols)) for each in facts.inputs),
        output=output,
        calls=tuple(_call(each, symbols) for each in facts.calls),
        result=facts.result and _argument(facts.result, symbols),
    )


def _solve(facts: ModuleFacts, wanted: Sequence[tuple[int | None, ...]]) -> dict[str, int]:
    symbols: dict[str, int] = {}
    if len(facts.inputs) != len(wanted):
        return {}
    for buffer, shape in zip(facts.inputs, wanted, strict=True):
        have = buffer.tensor.shape
        if have is None or len(have) != len(shape):
            return {}
        for extent, want in zip(have, shape, strict=True):
            if want is None or extent == "?":  # "?" is what is no variable
                continue
            # One name has one extent: with `n` for 8 and for 9 the call would fail, and that is
            # told by the shapes as they are.
            known = symbols.setdefault(extent, want) if isinstance(extent, str) else extent
            if known != want:
                return {}
    return symbols


def _tensor(tensor: TensorFacts, symbols: Mapping[str, int]) -> TensorFacts:
    if tensor.shape is None:
        return tensor
    bound = (symbols.get(each, each) if isinstance(each, str) else each for each in tensor.shape)
    return replace(tensor, shape=tuple(bound))


def _argument(argument: Argument, symbols: Mapping[str, int]) -> Argument:
    return replace(argument, tensor=argument.tensor and _tensor(argument.tensor, symbols))


def _call(call: Call, symbols: Mapping[str, int]) -> Call:
    return replace(
        call,
        arguments=tuple(_argument(each, symbols) for each in call.arguments),
        result=call.result and _tensor(call.result, symbols),
    )
