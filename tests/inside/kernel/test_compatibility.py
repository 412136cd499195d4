"""Old names in the student kernel: each test has a process of its own, whose TVM it changes."""

from __future__ import annotations

from collections.abc import Callable

from grader.inside.kernel.compatibility import SUPPLIED

Output = Callable[[str], str]

INSTALL = "from grader.inside.kernel.compatibility import SUPPLIED, install\nadded = install()\n"


def test_every_name_is_added_once(output_of: Output) -> None:
    names = output_of(f"{INSTALL}print(*added)\nassert install() == ()").split()
    assert [each.name for each in SUPPLIED] == names


def test_names_are_found_by_import_getattr_and_importlib(output_of: Output) -> None:
    program = """
import importlib, tvm
from tvm.tir import PrimFunc, Schedule
from tvm import nd
import tvm.nd
from tvm.relax import vm
assert importlib.import_module("tvm.tir").Schedule is Schedule is tvm.s_tir.Schedule
assert PrimFunc is tvm.tirx.PrimFunc
print(getattr(tvm, "nd").array([1.0, 2.0]).numpy().sum(), nd.empty((2, 3)).shape[1])
print(vm.build is tvm.relax.build, tvm.relax.DynTensorType(2, "float32").ndim)
"""
    assert "3.0 3\nTrue 2" == output_of(INSTALL + program)


def test_a_variable_has_a_hint_of_its_name(output_of: Output) -> None:
    program = """
import tvm
from tvm import relax
from tvm.script import relax as R
print(relax.Var("x", R.Tensor((2,), "float32")).name_hint, tvm.tirx.Var("n", "int64").name_hint)
"""
    assert "x n" == output_of(INSTALL + program)


def test_an_old_module_lacks_what_no_new_one_has(output_of: Output) -> None:
    program = """
import tvm
try:
    tvm.tir.no_such_name
except AttributeError as error:
    print(error)
"""
    expected = "module 'tvm.tir' has no attribute 'no_such_name'"
    assert expected == output_of(INSTALL + program)


def test_what_today_has_is_not_replaced(output_of: Output) -> None:
    program = """
import sys, tvm, tvm.relax, tvm.s_tir, tvm.script, tvm.topi
def picture():
    owners = [m for n, m in sys.modules.items() if n.split(".")[0] == "tvm"]
    owners += [tvm.s_tir.Schedule, tvm.relax.Var]
    return {(id(owner), name): id(value) for owner in owners for name, value in vars(owner).items()}
before = picture()
from grader.inside.kernel.compatibility import install
install()
after = picture()
print([key for key, value in before.items() if after.get(key) != value])
"""
    assert "[]" == output_of(program)


def test_a_schedule_has_its_old_method(output_of: Output) -> None:
    program = """
import tvm
from tvm import te
x = te.placeholder((8,), name="x")
function = te.create_prim_func([x, te.compute((8,), lambda i: x[i] * 2, name="y")])
print(getattr(tvm.tir.Schedule(function), "get_block")("y") is not None)
"""
    assert "True" == output_of(INSTALL + program)
