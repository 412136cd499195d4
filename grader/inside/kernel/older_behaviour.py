"""What earlier versions of TVM did where today's raises an error, for notebooks in their spelling.

Each of these is asked only after today's TVM has refused: code that runs today runs as it does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tvm
from tvm.script.parser.core import dispatch

_PLAIN = (int, float, str, tuple)


def install_behaviour() -> None:
    """Make this process's TVM do what earlier ones did."""
    tvm.ir.Var.shape = property(_first_of(tvm.ir.Var.shape.fget, _shape_of))
    for name in ("checked_type", "struct_info"):
        if not hasattr(tvm.ir.Expr, name):
            setattr(tvm.ir.Expr, name, property(_type_of))
    for owner in (tvm.relax, tvm.relax.expr):
        if not hasattr(owner, "Constant"):
            owner.Constant = _Constant
    tvm.ir.assert_structural_equal = _equal_but_for_the_symbol(tvm.ir.assert_structural_equal)
    assign = dispatch.get("ir", "Assign")
    dispatch.register("ir", "Assign")(_with_constants(assign))


class _AnyConstant(type):
    """What `isinstance(value, relax.Constant)` asks."""

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, tvm.ir.GenericConst)


class _Constant(metaclass=_AnyConstant):
    """A constant of Relax by its old name, made of a tensor alone."""

    def __new__(cls, data: Any) -> Any:
        return tvm.relax.const(data.numpy() if hasattr(data, "numpy") else data)


def _type_of(value: Any) -> Any:
    return value.ty


def _shape_of(value: Any) -> Any:
    """Return the shape of a tensor of Relax, as `x.shape` of 2022."""
    shape = getattr(value.ty, "shape", None)
    if shape is None:
        raise AttributeError(f"{type(value).__name__!r} object has no attribute 'shape'")
    return shape


def _first_of(today: Callable[[Any], Any], earlier: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def get(value: Any) -> Any:
        try:
            return today(value)
        except AttributeError:
            return earlier(value)

    return get


def _equal_but_for_the_symbol(today: Callable[..., None]) -> Callable[..., None]:
    """Compare functions by themselves without their names: a lone one had none in 2022."""

    def assert_structural_equal(lhs: Any, rhs: Any, *options: Any, **named: Any) -> None:
        try:
            today(lhs, rhs, *options, **named)
        except ValueError:
            if not all(isinstance(each, tvm.tirx.PrimFunc) for each in (lhs, rhs)):
                raise
            named_alike = [each.with_attr("global_symbol", "main") for each in (lhs, rhs)]
            today(*named_alike, *options, **named)

    return assert_structural_equal


def _with_constants(today: Callable[[Any, Any], None]) -> Callable[[Any, Any], None]:
    """Let a class of a module have constants, such as `N, H, W = 1, 8, 8`, beside its functions."""

    def visit_assign(parser: Any, node: Any) -> None:
        value = parser.eval_expr(node.value) if len(node.targets) == 1 else None
        if not isinstance(value, _PLAIN):
            today(parser, node)
            return
        parser.eval_assign(
            target=node.targets[0],
            source=value,
            bind_value=lambda _parser, _node, _name, each: each,
            allow_shadowing=True,
        )

    return visit_assign
