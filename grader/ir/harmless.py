"""What no guard sees: addresses, and expressions that are not of the types that they say.

A guard compares indices with extents. So a function may do nothing that goes past them: take an
address, call a function of the module, tell TVM to believe a condition, use what is undefined, or
load eight lanes by an index of one. TVM would not build most of these expressions, but it loads
them from JSON without a look.
"""

from __future__ import annotations

from collections.abc import Callable

from grader.ir.doubts import Reasons
from grader.ir.dtypes import DataType, item_type, parse, type_of
from grader.ir.expressions import constant, data_type
from grader.ir.graph import Graph
from grader.ir.storage import alignment_padding
from grader.ir.values import COMPARISONS

_POINTERS = frozenset(
    {"tirx.buffer_data", "tirx.tvm_stack_make_array", "tirx.tvm_stack_make_shape"}
)
"""Intrinsics that are or take addresses. The last two also grow the stack at every call."""

_SAME_TYPE = frozenset(
    {
        "prim.Add",
        "prim.BitwiseAnd",
        "prim.BitwiseOr",
        "prim.BitwiseXor",
        "prim.Div",
        "prim.FloorDiv",
        "prim.FloorMod",
        "prim.LShift",
        "prim.Max",
        "prim.Min",
        "prim.Mod",
        "prim.Mul",
        "prim.RShift",
        "prim.Sub",
    }
)
_LOGIC = frozenset({"prim.And", "prim.Or"})


class Harmless:
    """Looks at the nodes of a function one by one, wherever they stand."""

    def __init__(self, graph: Graph, doubts: Reasons) -> None:
        self.graph = graph
        self.doubts = doubts
        self.padding = 0
        self._rules: dict[str, Callable[[int], bool]] = {
            "ir.Call": self._call,
            "ir.TensorLoad": self._load,
            "prim.Broadcast": self._broadcast,
            "prim.Cast": lambda index: (
                self._lanes(index) == self._lanes(graph.field(index, "value"))
            ),
            "prim.Let": self._let,
            "prim.Not": lambda index: self._are_alike(index, graph.field(index, "a")),
            "prim.Ramp": self._ramp,
            "prim.Select": self._select,
            "prim.Shuffle": lambda _: False,
            "s_tir.SBlock": self._block,
            "tirx.AssertStmt": lambda index: self._is_condition(graph.field(index, "condition")),
            "tirx.Bind": lambda index: self._are_alike(*self._fields(index, "var", "value")),
            "tirx.BufferStore": self._store,
            "tirx.For": self._loop,
            "tirx.IfThenElse": lambda index: self._is_condition(graph.field(index, "condition")),
        }

    def look(self, nodes: list[int]) -> None:
        """Look at all nodes of a function.

        Afterwards `padding` says by how many items rows of a buffer may be lengthened.
        """
        for index in nodes:
            kind = self.graph.type_of(index)
            if kind in _SAME_TYPE:
                good = self._are_alike(index, *self._fields(index, "a", "b"))
            elif kind in COMPARISONS or kind in _LOGIC:
                good = self._is_comparison(index, kind in _LOGIC)
            else:
                rule = self._rules.get(kind)
                good = rule is None or rule(index)
            if not good:
                self.doubts.refuse("types", kind.rpartition(".")[2])

    # --- types ------------------------------------------------------------------------------------

    def _fields(self, index: int, *names: str) -> list[int]:
        return [self.graph.field(index, name) for name in names]

    def _lanes(self, index: int) -> int:
        return type_of(self.graph, index).lanes

    def _are_alike(self, *expressions: int) -> bool:
        types = {type_of(self.graph, each) for each in expressions}
        return len(types) == 1 and next(iter(types)).kind not in ("", "handle", "void")

    def _is_condition(self, index: int) -> bool:
        return type_of(self.graph, index) == parse("bool")

    def _is_comparison(self, index: int, is_logic: bool) -> bool:
        sides = self._fields(index, "a", "b")
        own, side = type_of(self.graph, index), type_of(self.graph, sides[0])
        alike = self._are_alike(*sides) and own.lanes == side.lanes
        return alike and own.kind == "bool" and (not is_logic or side.kind == "bool")

    def _let(self, index: int) -> bool:
        variable, value, body = self._fields(index, "var", "value", "body")
        return self._are_alike(variable, value) and self._are_alike(index, body)

    def _select(self, index: int) -> bool:
        condition, *values = self._fields(index, "condition", "true_value", "false_value")
        kind = type_of(self.graph, condition)
        lanes = (1, self._lanes(index))
        return self._are_alike(index, *values) and kind.kind == "bool" and kind.lanes in lanes

    def _broadcast(self, index: int) -> bool:
        return self._is_vector_of(index, self.graph.field(index, "value"))

    def _ramp(self, index: int) -> bool:
        base, stride = self._fields(index, "base", "stride")
        return self._are_alike(base, stride) and self._is_vector_of(index, base)

    def _is_vector_of(self, index: int, item: int) -> bool:
        own, inner = type_of(self.graph, index), type_of(self.graph, item)
        lanes = constant(self.graph, self.graph.field(index, "lanes"))
        return inner.lanes == 1 and own.lanes == lanes and own.scalar == inner.scalar

    def _loop(self, index: int) -> bool:
        bounds = self._fields(index, "loop_var", "min", "extent")
        step = self.graph.optional(index, "step")
        return self._are_alike(*bounds, *([] if step is None else [step])) and (
            type_of(self.graph, bounds[0]).lanes == 1
        )

    # --- accesses ---------------------------------------------------------------------------------

    def _load(self, index: int) -> bool:
        graph = self.graph
        item = item_type(graph, graph.field(index, "source"))
        declared = parse(data_type(graph, graph.field(index, "ty")))
        return self._is_access(item, graph.list(index, "indices"), declared)

    def _store(self, index: int) -> bool:
        graph = self.graph
        item = item_type(graph, graph.field(index, "buffer"))
        value = type_of(graph, graph.field(index, "value"))
        return self._is_access(item, graph.list(index, "indices"), value)

    def _is_access(self, item: DataType, indices: list[int], value: DataType) -> bool:
        """Say whether as many items are moved as there are indices.

        A store of eight lanes by one index writes seven items behind it. Only the last index may be
        a vector, as TVM demands.
        """
        lanes = [self._lanes(each) for each in indices] or [1]
        kinds = {type_of(self.graph, each).kind for each in indices}
        fits = value.lanes == item.lanes * lanes[-1] and value.scalar == item.scalar
        return fits and kinds <= {"int", "uint"} and all(each == 1 for each in lanes[:-1])

    # --- calls and annotations --------------------------------------------------------------------

    def _call(self, index: int) -> bool:
        graph = self.graph
        operator, arguments = graph.field(index, "op"), graph.list(index, "args")
        if graph.type_of(operator) != "ir.Op":
            self.doubts.refuse("call", "")
            return True
        name = graph.text(operator)
        if not all(map(graph.is_scalar_or_array, arguments)):
            return False
        if name in _POINTERS or type_of(graph, index).kind == "handle":
            self.doubts.refuse("pointer", name)
        elif name in ("tirx.assume", "tirx.undef"):
            # LLVM takes an assumption for true, and each use of an undefined value for another one.
            self.doubts.refuse("undefined", name)
        elif name == "prim.if_then_else":
            scalars = len(arguments) == 3 and all(map(graph.is_scalar_or_array, arguments))
            return (
                scalars
                and self._is_condition(arguments[0])
                and self._are_alike(index, *arguments[1:])
            )
        elif name == "prim.likely":
            return len(arguments) == 1 and self._are_alike(index, *arguments)
        elif name == "tirx.reinterpret":
            types = [type_of(graph, each) for each in arguments]
            own = type_of(graph, index)
            return [own.bits * own.lanes] == [each.bits * each.lanes for each in types]
        return True

    def _block(self, index: int) -> bool:
        graph = self.graph
        for key, value in graph.pairs(graph.field(index, "annotations")):
            if graph.text(key) == "buffer_dim_align":
                padding = alignment_padding(graph, value)
                if padding is None:
                    self.doubts.refuse("annotation", graph.text(key))
                else:
                    self.padding = max(self.padding, padding)
        return True
