"""A module of two layers whose `main` can be written so that its calls do not fit."""

from __future__ import annotations

from tvm.script import from_source
from tvm.script import ir as I  # noqa: N812
from tvm.script import relax as R  # noqa: N812
from tvm.script import tirx as T  # noqa: N812

from tests.ir.modules import save

_FUNCTIONS = """
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def first(X: T.Buffer((1, 4), "float32"), W: T.Buffer((3, 4), "float32"),
              B: T.Buffer((3,), "float32"), Z: T.Buffer((1, 3), "float32")):
        T.evaluate(0)

    @T.prim_func(s_tir=True)
    def second(X: T.Buffer((1, 3), "float32"), W: T.Buffer((2, 3), "float32"),
               B: T.Buffer((2,), "float32"), Z: T.Buffer((1, 2), "float32")):
        T.evaluate(0)
"""

FIRST = 'R.call_tir(cls.first, (x, w0, b0), R.Tensor((1, 3), "float32"))'
SECOND = 'R.call_tir(cls.second, (lv, w1, b1), R.Tensor((1, 2), "float32"))'


def source(first: str = FIRST, second: str = SECOND, inputs: str = "") -> str:
    """Return the module's text with these calls; `inputs` replaces those of `main`."""
    given = inputs or (
        'x: R.Tensor((1, 4), "float32"), w0: R.Tensor((3, 4), "float32"),'
        ' b0: R.Tensor((3,), "float32"), w1: R.Tensor((2, 3), "float32"),'
        ' b1: R.Tensor((2,), "float32")'
    )
    return f"""{_FUNCTIONS}
    @R.function
    def main({given}):
        cls = Module
        with R.dataflow():
            lv = {first}
            out = {second}
            R.output(out)
        return out
"""


def unchecked(first: str = FIRST, second: str = SECOND, inputs: str = "") -> bytes:
    """Return the module as TVM saves it, though it would refuse it."""
    return saved(source(first, second, inputs))


def saved(text: str) -> bytes:
    """Return the module of a text as TVM saves it, though it would refuse it."""
    return save(from_source(text, {"I": I, "R": R, "T": T}, check_well_formed=False))
