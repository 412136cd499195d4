"""What earlier versions of TVM did: each test has a process of its own, whose TVM it changes."""

from __future__ import annotations

from pathlib import Path

from tests.inside.kernel.test_compatibility import Output

INSTALL = """
from grader.inside.kernel.compatibility import install_behaviour
install_behaviour()
import tvm
from tvm import relax
from tvm.script import ir as I, relax as R, tirx as T
x = relax.Var("x", R.Tensor((1, 4), "float32"))
"""

MODULE = """
import tvm
from tvm.script import ir as I, tirx as T
COLUMNS = 9

@I.ir_module
class Module:
    ROWS, COLUMNS = 2, 4
    @T.prim_func(s_tir=True)
    def copy(A: T.Buffer((ROWS, COLUMNS), "float32"), B: T.Buffer((ROWS, COLUMNS), "float32")):
        for i, j in T.grid(ROWS, COLUMNS):
            with T.sblock("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj]

@T.prim_func(s_tir=True)
def lone(A: T.Buffer((2, 4), "float32"), B: T.Buffer((2, 4), "float32")):
    for i, j in T.grid(2, 4):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj]
"""


def test_a_variable_has_a_shape_and_its_type_by_the_old_names(output_of: Output) -> None:
    program = "print(*map(int, x.shape), x.checked_type.ndim, x.struct_info.ndim)"
    assert "1 4 2 2" == output_of(INSTALL + program)


def test_what_has_no_shape_still_has_none(output_of: Output) -> None:
    program = (
        "print(hasattr(tvm.tirx.Var('i', 'int32'), 'shape'), tvm.tirx.decl_buffer((3,)).shape)"
    )
    assert "False [3]" == output_of(INSTALL + program).replace("(3,)", "[3]")


def test_constants_are_known_and_made_by_the_old_name(output_of: Output) -> None:
    program = """
made = relax.Constant(tvm.runtime.tensor([1.0, 2.0]))
print(isinstance(made, relax.Constant), isinstance(x, relax.expr.Constant), made.ty.ndim)
"""
    assert "True False 1" == output_of(INSTALL + program)


def test_a_target_is_a_device_and_what_is_none_is_refused(output_of: Output) -> None:
    program = """
target = "llvm -mcpu=native"
print(tvm.device(target, 0) == tvm.runtime.device("llvm") == tvm.cpu(0))
try:
    tvm.device("llvm2")
except ValueError as error:
    print(error)
"""
    assert "True\nUnknown device: llvm2" == output_of(INSTALL + program)


def test_a_class_of_a_module_may_have_constants(output_of: Output, tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(MODULE)
    program = f"""
import sys; sys.path.insert(0, {str(tmp_path)!r})
import script
print(list(script.Module["copy"].params[0].shape), script.COLUMNS)
"""
    assert "[2, 4] 9" == output_of(INSTALL + program)


def test_functions_are_compared_without_their_names(output_of: Output, tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(MODULE)
    program = f"""
import sys; sys.path.insert(0, {str(tmp_path)!r})
from script import lone
tvm.ir.assert_structural_equal(lone, lone.with_attr("global_symbol", "main"))
try:
    tvm.ir.assert_structural_equal(lone, lone.with_attr("tirx.noalias", True))
except ValueError:
    print("differ")
"""
    assert "differ" == output_of(INSTALL + program)
