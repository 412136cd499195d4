"""A packed call of a function of the same module is a call of that function."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax
from tvm.script import from_source
from tvm.script import ir as I  # noqa: N812
from tvm.script import relax as R  # noqa: N812
from tvm.script import tirx as T  # noqa: N812

from grader.inside.kernel.modules import with_own_calls

MODULE = """
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def double(x: T.handle, y: T.handle):
        n = T.int64()
        X = T.match_buffer(x, (n,), "float32")
        Y = T.match_buffer(y, (n,), "float32")
        for i in range(n):
            with T.sblock("Y"):
                vi = T.axis.spatial(n, i)
                Y[vi] = X[vi] * T.float32(2)

    @R.function
    def main(x: R.Tensor(("m",), "float32")):
        m = T.int64()
        with R.dataflow():
            y = R.call_dps_packed("NAME", (x,), R.Tensor((m,), "float32"))
OTHER
            R.output(OUT)
        return OUT
"""


OTHER = '            z = R.call_dps_packed("env.other", (y,), R.Tensor((m,), "float32"))'


def module(name: str, out: str = "y") -> Any:
    other = OTHER if out == "z" else ""
    text = MODULE.replace("NAME", name).replace("OTHER", other).replace("OUT", out)
    return from_source(text, extra_vars={"I": I, "R": R, "T": T})


def test_it_computes_what_it_did() -> None:
    changed = with_own_calls(module("double"))
    assert "call_tir(cls.double" in changed.script()
    machine = relax.VirtualMachine(tvm.compile(changed, "llvm"), tvm.cpu())
    given = np.arange(4, dtype="float32")
    assert [0, 2, 4, 6] == machine["main"](tvm.runtime.tensor(given)).numpy().tolist()


def test_calls_of_other_functions_stay_packed() -> None:
    assert 'call_dps_packed("env.other"' in with_own_calls(module("double", "z")).script()


@pytest.mark.parametrize("name", ["env.double", "main"])
def test_what_calls_none_of_its_own_is_the_same_module(name: str) -> None:
    given = module(name)
    assert given is with_own_calls(given)


def test_the_notebook_s_module_is_left_alone() -> None:
    given = module("double")
    with_own_calls(given)
    assert 'call_dps_packed("double"' in given.script()


def test_a_module_without_a_main_of_relax_is_the_same() -> None:
    given = tvm.IRModule({"main": module("double")["double"]})
    assert given is with_own_calls(given)
