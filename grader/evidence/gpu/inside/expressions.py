"""Expressions of lowered TIR as functions of a state, computed for all threads at once."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from grader.evidence.gpu.inside.failure import NotSimulatedError
from grader.evidence.gpu.inside.shuffles import ACTIVE, SHUFFLES, shuffle
from grader.evidence.gpu.inside.state import State, Values, is_vector

Evaluate = Callable[[State], Values]
LoadMaker = Callable[[Any, "Expressions"], Evaluate]

_DTYPE = re.compile(r"(bool|(?:u?int|float)(?:8|16|32|64))(?:x([0-9]{1,4}))?", re.ASCII)


def parse_dtype(text: str) -> tuple[np.dtype[Any], int]:
    """Return the type of a lane, and how many there are. Raises NotSimulatedError."""
    match = _DTYPE.fullmatch(text)
    if match is None or match[1] == "float8":
        raise NotSimulatedError("dtype", text)
    return np.dtype(match[1]), int(match[2] or 1)


def dtype_of(node: Any) -> np.dtype[Any]:
    """Return the type of a lane of an expression."""
    return parse_dtype(str(node.ty.dtype))[0]


def _divide(a: Values, b: Values) -> Values:
    """Divide as C does: integers towards zero."""
    if np.result_type(a).kind == "f":
        return np.divide(a, b)
    return np.where(b == 0, 0, np.trunc(np.divide(a, np.where(b == 0, 1, b)))).astype(
        np.result_type(a)
    )


_BINARY: Mapping[str, Callable[[Any, Any], Any]] = {
    "Add": np.add,
    "And": np.logical_and,
    "Div": _divide,
    "EQ": np.equal,
    "FloorDiv": np.floor_divide,
    "FloorMod": np.mod,
    "GE": np.greater_equal,
    "GT": np.greater,
    "LE": np.less_equal,
    "LT": np.less,
    "LShift": np.left_shift,
    "Max": np.maximum,
    "Min": np.minimum,
    "Mod": np.fmod,
    "Mul": np.multiply,
    "NE": np.not_equal,
    "Or": np.logical_or,
    "RShift": np.right_shift,
    "BitwiseAnd": np.bitwise_and,
    "BitwiseOr": np.bitwise_or,
    "BitwiseXor": np.bitwise_xor,
    "Sub": np.subtract,
}
ARITHMETIC = frozenset({"Add", "Sub", "Mul", "Div", "Max", "Min"})
"""Of floats each of these counts as one operation, as do the functions below."""


def _widened(value: Values) -> np.dtype[Any]:
    dtype = np.result_type(value)
    return np.dtype(np.float64) if dtype.kind == "f" else dtype


_one = np.vectorize(math.erf, otypes=[np.float64])


def _keep_type(function: Callable[..., Any]) -> Callable[..., Any]:
    def computed(*values: Any) -> Any:
        # NumPy's functions of float32 have other last bits on another processor; those of float64
        # have too, and rounding removes them.
        wide = (np.asarray(each, _widened(each)) for each in values)
        return np.asarray(function(*wide)).astype(np.result_type(values[0]), copy=False)

    return computed


_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "prim.ceil": np.ceil,
    "tirx.ceil": np.ceil,
    "tirx.cos": np.cos,
    "tirx.erf": _one,
    "tirx.exp": np.exp,
    "tirx.exp2": np.exp2,
    "tirx.fabs": np.abs,
    "tirx.floor": np.floor,
    "tirx.fma": lambda a, b, c: a * b + c,
    "tirx.log": np.log,
    "prim.log2": np.log2,
    "tirx.log2": np.log2,
    "tirx.log1p": np.log1p,
    "tirx.nearbyint": np.rint,
    "tirx.pow": np.power,
    "tirx.round": np.rint,
    "tirx.rsqrt": lambda a: 1 / np.sqrt(a),
    "tirx.sigmoid": lambda a: 1 / (1 + np.exp(-a)),
    "tirx.sin": np.sin,
    "tirx.sqrt": np.sqrt,
    "tirx.tan": np.tan,
    "tirx.tanh": np.tanh,
    "tirx.trunc": np.trunc,
    "tirx.isnan": np.isnan,
}


class Expressions:
    """Makes functions of expressions; `slots` has the place of each variable in a state."""

    def __init__(self, slots: dict[int, int]) -> None:
        self.slots = slots

    def slot(self, variable: Any) -> int:
        """Return the place of a variable."""
        return self.slots.setdefault(hash(variable), len(self.slots))

    def of(self, node: Any, load: LoadMaker) -> Evaluate:  # noqa: C901 - one for each kind
        """Return the function of an expression; `load` makes those of loads.

        Raises NotSimulatedError.
        """
        kind = type(node).__name__
        if kind in ("IntImm", "FloatImm"):
            number = dtype_of(node).type(node.value)
            return lambda _: number
        if kind == "Var":
            place = self.slot(node)
            return lambda state: state.values[place]
        if kind in _BINARY:
            operation, a, b = _BINARY[kind], self.of(node.a, load), self.of(node.b, load)
            return lambda state: operation(a(state), b(state))
        if kind == "TensorLoad":
            return load(node, self)
        if kind == "Not":
            inner = self.of(node.a, load)
            return lambda state: np.logical_not(inner(state))
        if kind == "Cast":
            value, dtype = self.of(node.value, load), dtype_of(node)
            return lambda state: np.asarray(value(state)).astype(dtype)[()]
        if kind == "Select":
            parts = (node.condition, node.true_value, node.false_value)
            return self._choice(*(self.of(each, load) for each in parts))
        if kind == "Broadcast":
            value, lanes = self.of(node.value, load), int(node.lanes)
            return lambda state: _spread(value(state), lanes)
        if kind == "Ramp":
            base, stride = self.of(node.base, load), self.of(node.stride, load)
            count = np.arange(int(node.lanes), dtype=dtype_of(node))
            return lambda state: _column(base(state)) + _column(stride(state)) * count
        if kind == "Let":
            place, value = self.slot(node.var), self.of(node.value, load)
            body = self.of(node.body, load)
            return lambda state: _let(state, place, value, body)
        if kind == "Call":
            return self._call(node, load)
        raise NotSimulatedError("operator", kind)

    def _call(self, node: Any, load: LoadMaker) -> Evaluate:
        name = str(getattr(node.op, "name", type(node.op).__name__))
        if name == "prim.likely":
            return self.of(node.args[0], load)
        if name == "prim.if_then_else":
            return self._choice(*(self.of(each, load) for each in node.args))
        if name == ACTIVE:
            return lambda _: np.uint32(2**32 - 1)
        if name in SHUFFLES:
            _, *parts = (self.of(each, load) for each in node.args[:4])
            choose = SHUFFLES[name]
            return lambda state: shuffle(state, choose, *(each(state) for each in parts))
        function = _FUNCTIONS.get(name)
        if function is None:
            raise NotSimulatedError("operator", name)
        kept = function if name == "tirx.isnan" else _keep_type(function)
        values = [self.of(each, load) for each in node.args]
        return lambda state: kept(*(each(state) for each in values))

    @staticmethod
    def _choice(condition: Evaluate, first: Evaluate, second: Evaluate) -> Evaluate:
        """Return a choice: each side is computed by those threads alone that take it."""

        def choose(state: State) -> Values:
            chosen = np.asarray(condition(state))
            if chosen.ndim == 0:
                return first(state) if chosen else second(state)
            # Partial results of a sum over threads have an axis for each of x, y and z.
            if is_vector(chosen) or chosen.ndim > 3:
                return np.where(chosen, first(state), second(state))
            with state.where(chosen) as some:
                one = first(state) if some else None
            with state.where(~chosen) as others:
                two = second(state) if others else None
            if one is None or two is None:
                return two if one is None else one
            lanes = is_vector(np.asarray(one)) or is_vector(np.asarray(two))
            return np.where(chosen[..., None] if lanes else chosen, one, two)

        return choose


def _column(value: Values) -> Values:
    return np.asarray(value)[..., None]


def _spread(value: Values, lanes: int) -> Values:
    array = np.asarray(value)
    return np.broadcast_to(array[..., None], (*array.shape, lanes))


def _let(state: State, place: int, value: Evaluate, body: Evaluate) -> Values:
    state.values[place] = np.array(value(state))
    return body(state)


def count_operations(node: Any) -> int:
    """Return how many floating-point operations an expression has, as written, for one lane."""
    kind = type(node).__name__
    if kind in ("IntImm", "FloatImm", "Var", "TensorLoad", "StringImm"):
        return 0
    own = 0
    if kind in ARITHMETIC or kind == "Call":
        text = str(node.ty.dtype)
        counts = kind != "Call" or str(node.op.name) in _FUNCTIONS
        own = int(text.startswith("float") and counts)
    children = node.args if kind == "Call" else operands(node)
    lanes = parse_dtype(str(node.ty.dtype))[1] if kind in ARITHMETIC else 1
    return own * lanes + sum(count_operations(each) for each in children)


def choices_in(node: Any) -> list[Any]:
    """Return the conditions of all choices in an expression."""
    found, pending = [], [node]
    while pending:
        each = pending.pop()
        kind = type(each).__name__
        if kind == "Select":
            found.append(each.condition)
        if kind == "Call":
            if str(getattr(each.op, "name", "")) == "prim.if_then_else":
                found.append(each.args[0])
            pending.extend(each.args)
        elif kind == "TensorLoad":
            pending.extend(each.indices)
        else:
            pending.extend(operands(each))
    return found


def operands(node: Any) -> list[Any]:
    """Return the expressions in an expression that is no call."""
    names = ("a", "b", "value", "base", "stride", "condition", "true_value", "false_value", "body")
    return [getattr(node, each) for each in names if hasattr(node, each)]
