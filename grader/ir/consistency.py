"""What a schema cannot say: fields that must fit together, or lie in a range, for TVM to survive a
module.

Every rule here stands for a crash or an abort of TVM that was seen with a node that has the right
fields of the right types: a loop of kind 99, an extent of -1, a name with a NUL in it.
"""

from collections.abc import Callable

from grader.errors import IRError
from grader.ir.expressions import (
    Budget,
    constant,
    data_type,
    is_buffer,
    parse,
    plain_integer,
    type_of,
)
from grader.ir.facts import LoopKind
from grader.ir.graph import DAMAGED_HINT, Graph
from grader.ir.vocabulary import (
    PIPELINE_ORDER,
    PIPELINE_STAGES,
    is_function_name,
    is_name,
    is_symbol,
    shown,
)
from grader.language import Text, say

RANK_LIMIT = 32
EXTENT_LIMIT = 2**40
ALIGNMENT_LIMIT = 4096
LANES_LIMIT = 4096
STAGE_LIMIT = 16
LOOP_KINDS: tuple[LoopKind, ...] = (
    "serial",
    "parallel",
    "vectorized",
    "unrolled",
    "thread_binding",
)
THREAD_BINDING = 4
ITERATOR_TYPES = 9
THREAD_INDEX = 1


def check_consistency(graph: Graph) -> None:
    """Check every node. Raises IRError at the first that TVM would not survive."""
    budget = Budget()
    for index, kind in enumerate(graph.types):
        check = _CHECKS.get(kind)
        if check is not None:
            check(graph, index)
        elif kind in _LONG_CHECKS:
            _LONG_CHECKS[kind](graph, index, budget)
    if graph.types.count("ir.IRModule") != 1:
        raise _damaged(say("there-module-inside-module"))


def _damaged(reason: Text) -> IRError:
    return IRError(say("saved-module-damaged", reason=reason), DAMAGED_HINT)


def _bad_name(text: str) -> IRError:
    return IRError(
        say("name-in-module-invalid", name=shown(text)),
        say("use-letters-digits-and-underscores-in-names"),
    )


# --- names ---------------------------------------------------------------------------------------


def _variable(graph: Graph, index: int) -> None:
    if not is_name(graph.name(index)):
        raise _bad_name(graph.name(index))


def _global_variable(graph: Graph, index: int) -> None:
    _function_name(graph.name(index, "name_hint"))


def _extern_function(graph: Graph, index: int) -> None:
    _function_name(graph.name(index, "global_symbol"))


def _function_name(text: str) -> None:
    if not is_function_name(text):
        raise _bad_name(text)


def _symbol(graph: Graph, index: int) -> None:
    if not is_symbol(graph.text(index)):
        raise _bad_name(graph.text(index))


def _attributes(graph: Graph, index: int, budget: Budget) -> None:
    """A function's own symbol is a name too."""
    table = graph.field(index, "__dict__")
    budget.spend(len(graph.items(table)))
    for key, value in graph.pairs(table):
        if graph.text(key) == "global_symbol":
            if graph.type_of(value) != "ffi.String":
                raise _damaged(say("functions-symbol-not-string"))
            _function_name(graph.text(value))


def _module(graph: Graph, index: int) -> None:
    """Functions and the table of their names must tell the same story."""
    by_name = {
        graph.text(key): variable
        for key, variable in graph.pairs(graph.field(index, "global_var_map_"))
    }
    functions = [variable for variable, _ in graph.pairs(graph.field(index, "functions"))]
    named = {graph.name(variable, "name_hint"): variable for variable in functions}
    if len(named) != len(functions) or named != by_name:
        raise _damaged(say("modules-names-do-not-match-functions"))


# --- extents -------------------------------------------------------------------------------------


def _positive(graph: Graph, index: int, sentence: Text) -> None:
    value = constant(graph, index)
    if value is not None and not 0 < value <= EXTENT_LIMIT:
        raise IRError(say(sentence, value=value), say("extents-must-positive"))


def _loop(graph: Graph, index: int) -> None:
    kind = graph.field(index, "kind")
    if not 0 <= kind < len(LOOP_KINDS):
        raise _damaged(say("loop-no-known-kind"))
    if (kind == THREAD_BINDING) != (graph.optional(index, "thread_binding") is not None):
        raise _damaged(say("loop-bound-no-thread-or-one-without"))
    _positive(graph, graph.field(index, "extent"), say("loop-in-module-has-extent"))
    step = graph.optional(index, "step")
    if step is not None:
        _positive(graph, step, say("loops-step-in-module-has-extent"))


def pipeline_stages(graph: Graph, loop: int) -> tuple[int, ...]:
    """Return the stage of each statement of a loop that is a software pipeline.

    None where it is none, or one that TVM would not survive: each statement has a stage, and a
    place in the order that is its own.
    """
    numbers = {
        graph.text(key): _numbers(graph, value)
        for key, value in graph.pairs(graph.field(loop, "annotations"))
    }
    stages = numbers.get(PIPELINE_STAGES, ())
    order = numbers.get(PIPELINE_ORDER, ())
    is_one = sorted(order) == list(range(len(stages))) and len(stages) <= STAGE_LIMIT
    return stages if is_one and all(0 <= each < STAGE_LIMIT for each in stages) else ()


def _numbers(graph: Graph, index: int) -> tuple[int, ...]:
    """Return the integers of an annotation that is a list of them, none where it is not."""
    if graph.type_of(index) != "ffi.Array":
        return ()
    numbers = [plain_integer(graph, each) for each in graph.items(index)]
    return tuple(each for each in numbers if each is not None) if None not in numbers else ()


def _iterator(graph: Graph, index: int) -> None:
    kind, domain = graph.field(index, "iter_type"), graph.optional(index, "dom")
    if not 0 <= kind < ITERATOR_TYPES or (domain is None and kind != THREAD_INDEX):
        raise _damaged(say("iterator-no-known-kind"))
    if domain is not None:
        _positive(graph, graph.field(domain, "extent"), say("iterator-in-module-has-extent"))


def _block(graph: Graph, index: int, budget: Budget) -> None:
    if not is_name(graph.name(index, "name_hint")):
        raise _bad_name(graph.name(index, "name_hint"))
    iterators, buffers = graph.list(index, "iter_vars"), graph.list(index, "alloc_buffers")
    budget.spend(len(iterators) + len(buffers))
    # Only an index of a thread has no domain (`_iterator` lets it pass), and a block has none of
    # these.
    if any(graph.optional(iterator, "dom") is None for iterator in iterators):
        raise _damaged(say("blocks-iterator-has-no-domain"))
    if not all(is_buffer(graph, buffer) for buffer in buffers):
        raise _damaged(say("block-allocates-something-that-not-buffer"))


def _realize(graph: Graph, index: int) -> None:
    iterators = graph.list(graph.field(index, "block"), "iter_vars")
    if len(iterators) != len(graph.list(index, "iter_values")):
        raise _damaged(say("block-has-not-one-value-for-each"))


# --- buffers and tensors -------------------------------------------------------------------------

_UNKNOWN_ITEMS = ("", "void")
"""What a tensor of Relax has where its items may be of any type."""


def _items(text: str) -> None:
    """Refuse items of odd sizes: TVM allocates three bytes for an int24 and 12 for three floats,
    and LLVM goes from one to the next by 4 and 16. So within its extents a function would reach
    far behind its buffer. A handle has eight bytes, which would be counted as none."""
    kind = parse(text)
    # Found by the cheats wild_items, wild_triples and, in a tensor between two functions,
    # wild_between.
    good = kind.bits >= 8 and not kind.bits & (kind.bits - 1) and not kind.lanes & (kind.lanes - 1)
    if not good and text not in _UNKNOWN_ITEMS:
        raise IRError(
            say("tensor-or-buffer-in-module-has-items", name=shown(text)),
            say("use-items-8-16-32-or-64"),
        )


def _buffer_type(graph: Graph, index: int) -> None:
    _items(data_type(graph, graph.field(index, "dtype")))
    shape, strides = graph.list(index, "shape"), graph.list(index, "strides")
    if len(shape) > RANK_LIMIT or len(strides) not in (0, len(shape)):
        raise _damaged(say("buffers-strides-do-not-fit-shape"))
    for item in shape:
        _positive(graph, item, say("buffer-in-module-has-extent"))
    alignment, factor = graph.field(index, "data_alignment"), graph.field(index, "offset_factor")
    if not 0 < alignment <= ALIGNMENT_LIMIT or not 0 <= factor <= ALIGNMENT_LIMIT:
        raise _damaged(say("buffers-alignment-out-range"))
    if graph.list(index, "allocated_addr"):
        raise _damaged(say("buffer-placed-at-address"))


def _access(variable: str, indices: str) -> Callable[[Graph, int], None]:
    """Return the check of a node that goes through a buffer: the rank must fit."""

    def check(graph: Graph, index: int) -> None:
        buffer = graph.field(index, variable)
        if not is_buffer(graph, buffer):
            raise _damaged(say("something-that-not-buffer-read-or-written"))
        rank = len(graph.list(graph.field(buffer, "ty"), "shape"))
        if rank != len(graph.list(index, indices)):
            raise IRError(
                say(
                    "buffer-has-dimensions-and-used-with-indices",
                    name=shown(graph.name(buffer)),
                    rank=rank,
                    count=len(graph.list(index, indices)),
                ),
                say("give-one-index-for-each-dimension"),
            )

    return check


def _buffer_of(graph: Graph, index: int) -> None:
    if not is_buffer(graph, graph.field(index, "buffer")):
        raise _damaged(say("something-that-not-buffer-used-like-one"))


def _tensor_type(graph: Graph, index: int) -> None:
    _items(data_type(graph, graph.optional(index, "dtype")))
    rank, shape = graph.field(index, "ndim"), graph.optional(index, "shape")
    if not -1 <= rank <= RANK_LIMIT:
        raise _damaged(say("tensors-rank-out-range"))
    if shape is not None and graph.type_of(shape) == "relax.expr.ShapeExpr":
        _extents(graph, graph.list(shape, "values"), rank)


def _shape_type(graph: Graph, index: int) -> None:
    if not -1 <= graph.field(index, "ndim") <= RANK_LIMIT:
        raise _damaged(say("shapes-rank-out-range"))
    if graph.optional(index, "values") is not None:
        _extents(graph, graph.list(index, "values"), graph.field(index, "ndim"))


def _extents(graph: Graph, items: list[int], rank: int) -> None:
    if len(items) != rank:
        raise _damaged(say("tensors-shape-does-not-fit-rank"))
    values = [constant(graph, item) for item in items]
    if any(value is not None and not 0 <= value <= EXTENT_LIMIT for value in values):
        # topi.reshape(x, (4, -1)) makes a tensor of just that shape.
        shape = ", ".join("?" if value is None else str(value) for value in values)
        raise IRError(
            say("tensor-in-module-has-shape", shape=f"({shape})"), say("extents-must-positive")
        )


def _constant(graph: Graph, index: int) -> None:
    """A constant's declared type must be that of its bytes: TVM copies as many as the type says."""
    value, kind = graph.field(index, "value"), graph.field(index, "ty")
    if graph.type_of(value) != "ffi.Tensor" or graph.type_of(kind) != "relax.TensorType":
        return
    header, shape = graph.values[value], graph.optional(kind, "shape")
    declared = data_type(graph, graph.optional(kind, "dtype"))
    if shape is not None and graph.type_of(shape) == "relax.expr.ShapeExpr":
        extents = tuple(constant(graph, item) for item in graph.list(shape, "values"))
        if extents == header.shape and declared == header.dtype:
            return
    raise _damaged(say("constant-not-type-that-written-beside"))


# --- scalars -------------------------------------------------------------------------------------


def _integer(graph: Graph, index: int) -> None:
    if not data_type(graph, graph.field(index, "ty")).startswith(("int", "uint", "bool")):
        raise _damaged(say("type-integer-not-integer-type"))
    value, numbers = constant(graph, index), type_of(graph, index).numbers
    # As an int8, 1000 is -24: whoever reads 1000 proves what does not hold (cheat wild_literal).
    if value is not None and numbers is not None and not numbers.low <= value <= numbers.high:
        raise _damaged(say("integer-does-not-fit-type"))


def _float(graph: Graph, index: int) -> None:
    if not data_type(graph, graph.field(index, "ty")).startswith(("float", "bfloat")):
        raise _damaged(say("type-floating-point-number-not-float-type"))


def _vector(graph: Graph, index: int) -> None:
    lanes = constant(graph, graph.field(index, "lanes"))
    if lanes is None or not 0 < lanes <= LANES_LIMIT:
        raise _damaged(say("vectors-length-out-range"))


def _tuple_item(graph: Graph, index: int) -> None:
    position, kind = graph.field(index, "index"), _type_of_value(graph, index)
    fields = graph.list(kind, "fields") if graph.type_of(kind) == "ir.TupleType" else None
    if position < 0 or (fields is not None and position >= len(fields)):
        raise _damaged(say("element-tuple-asked-for-that-does"))


def _type_of_value(graph: Graph, index: int) -> int:
    return graph.field(graph.field(index, "tuple_value"), "ty")


_CHECKS: dict[str, Callable[[Graph, int], None]] = {
    "ir.EnvFunc": _symbol,
    "ir.FloatImm": _float,
    "ir.GenericConst": _constant,
    "ir.GlobalVar": _global_variable,
    "ir.IRModule": _module,
    "ir.IntImm": _integer,
    "ir.Op": _symbol,
    "ir.TensorLoad": _access("source", "indices"),
    "ir.TensorRegion": _access("source", "region"),
    "ir.TupleGetItem": _tuple_item,
    "ir.Var": _variable,
    "prim.Broadcast": _vector,
    "prim.Ramp": _vector,
    "relax.ShapeType": _shape_type,
    "relax.TensorType": _tensor_type,
    "relax.expr.DataflowVar": _variable,
    "relax.expr.ExternFunc": _extern_function,
    "s_tir.MatchBufferRegion": _buffer_of,
    "s_tir.SBlockRealize": _realize,
    "tirx.AllocBuffer": _buffer_of,
    "tirx.Axis": _symbol,
    "tirx.BufferStore": _access("buffer", "indices"),
    "tirx.BufferType": _buffer_type,
    "tirx.For": _loop,
    "tirx.IterVar": _iterator,
}

_LONG_CHECKS: dict[str, Callable[[Graph, int, Budget], None]] = {
    "ir.DictAttrs": _attributes,
    "s_tir.SBlock": _block,
}
"""Checks that walk a list, which many nodes might share."""
