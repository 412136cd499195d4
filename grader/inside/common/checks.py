"""Checks that are written down while a function is read, and what decides about them.

Where nothing is decided by what stands in buffers, an integer that overflows is a wrong number and
no more: it can be stored, and nothing else. A sum of 64-bit integers that was never set to zero
began with whatever was there, and was told that its indices were wrong.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import tvm
import tvm_ffi
from tvm import tirx

from grader.inside.common.ranges import Unguarded
from grader.messages.runner import Violation, ViolationKind

Expression = Any


class Site(NamedTuple):
    """A place in a program where something may go wrong: `size` is how many items there are."""

    kind: ViolationKind
    subject: str
    size: int = 0
    function: str = ""

    def violation(self, value: int) -> Violation:
        """Return what is told when it went wrong, with the index, or whatever it was."""
        return Violation(self.kind, self.function, self.subject, value, self.size)


class GuardCheck(NamedTuple):
    """`holds` must be true; where it is not, `value` is what is told, as an integer of 64 bits."""

    holds: Expression
    value: Expression
    site: Site


class Demands:
    """The checks of one statement after the other.

    `for_all_inputs` refuses those that depend on what is in a buffer.
    """

    def __init__(self, *, for_all_inputs: bool) -> None:
        self.checks: list[GuardCheck] = []
        self._for_all_inputs = for_all_inputs
        self._drawn_from_data: set[int] = set()
        self._under_data = 0
        self._conditions: list[Expression] = []
        self._bound: dict[int, Expression] = {}

    def add(self, holds: Any, value: Any, kind: ViolationKind, subject: str, size: int = 0) -> None:
        """Write down a check, which is only evaluated where the conditions hold."""
        if self._under_data or any(map(self._depends_on_data, (holds, *self._conditions))):
            raise Unguarded(f"{kind} that depends on data")
        for condition in reversed(self._conditions):
            holds = tirx.if_then_else(condition, holds, tirx.const(True))
        site = Site(kind, str(subject)[:100], size)
        self.checks.append(GuardCheck(self._substituted(holds), self._substituted(value), site))

    def draw(self, variable: Any, *sources: Expression) -> None:
        """Take down from what a variable's value comes."""
        if any(self._depends_on_data(each) for each in sources):
            self._drawn_from_data.add(hash(variable))

    def substitute(self, variable: Any, value: Expression) -> None:
        """Write a value into later checks where an expression binds a variable to it."""
        self._bound[hash(variable)] = self._substituted(value)

    @contextmanager
    def where(self, condition: Expression) -> Iterator[None]:
        """Write down what need only hold where a condition does."""
        self._conditions.append(condition)
        try:
            yield
        finally:
            self._conditions.pop()

    @contextmanager
    def depending_on(self, *deciding: Expression) -> Iterator[None]:
        """Read what is only done, or done so often, by the values of some expressions."""
        depends = any(self._depends_on_data(each) for each in deciding)
        self._under_data += depends
        try:
            yield
        finally:
            self._under_data -= depends

    def _depends_on_data(self, expression: Expression) -> bool:
        """Say whether an expression's value may be another one for other inputs."""
        if not self._for_all_inputs:
            return False
        found = tvm_ffi.structural_walk(
            expression,
            [(tvm.ir.TensorLoad, _stop), (tirx.Var, self._stop_at_data)],
        )
        return found is not None

    def _stop_at_data(self, variable: Any) -> Any:
        return _stop(variable) if hash(variable) in self._drawn_from_data else None

    def _substituted(self, expression: Expression) -> Expression:
        """Return an expression without the variables that expressions bind."""
        if not self._bound:
            return expression
        return tvm_ffi.structural_map(expression, (tirx.Var, self._value_of))

    def _value_of(self, variable: Any) -> Expression:
        return self._bound.get(hash(variable), variable)


def _stop(_: Any) -> Any:
    return tvm_ffi.VisitInterrupt()


_DIVISIONS = (
    tvm.ir.prim.Div,
    tvm.ir.prim.Mod,
    tvm.ir.prim.FloorDiv,
    tvm.ir.prim.FloorMod,
)


def decides_by_contents(body: Any) -> bool:
    """Say whether a load stands anywhere in lowered TIR where its value decides something."""
    found = tvm_ffi.structural_walk(
        body,
        [
            (tvm.ir.TensorLoad, lambda each: _stop_at_load(*each.indices)),
            (tirx.BufferStore, lambda each: _stop_at_load(*each.indices)),
            (tirx.For, lambda each: _stop_at_load(each.min, each.extent)),
            (tirx.IfThenElse, lambda each: _stop_at_load(each.condition)),
            (tirx.While, lambda each: _stop_at_load(each.condition)),
            (tirx.AssertStmt, lambda each: _stop_at_load(each.condition)),
            (tirx.Evaluate, lambda each: _stop_at_load(each.value)),
            (tirx.AllocBuffer, lambda each: _stop_at_load(*each.buffer.shape)),
            (tirx.Bind, lambda each: _stop_at_load(each.value)),
            (tirx.Let, lambda each: _stop_at_load(each.value)),
            (tvm.ir.Call, _stop_at_choice),
            *((kind, _stop_at_divisor) for kind in _DIVISIONS),
        ],
    )
    return found is not None


def _stop_at_choice(call: Any) -> Any:
    """Look at all that a call takes, but for the values that `if_then_else` chooses from."""
    name = str(getattr(call.op, "name", ""))
    return _stop_at_load(*(call.args[:1] if name == "prim.if_then_else" else call.args))


def _stop_at_divisor(division: Any) -> Any:
    is_integer = "int" in str(division.b.ty.dtype)
    return _stop_at_load(division.b) if is_integer else None


def _stop_at_load(*expressions: Any) -> Any:
    loads = [(tvm.ir.TensorLoad, lambda _: tvm_ffi.VisitInterrupt())]
    if any(tvm_ffi.structural_walk(each, loads) is not None for each in expressions):
        return tvm_ffi.VisitInterrupt()
    return None
