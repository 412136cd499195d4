"""Executables without code of their own, on a machine that has no C compiler."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping

import pytest

from grader.execute.known_errors import recognise
from tests.conftest import ROOT

PROGRAM = """
import json, sys
sys.modules["torch"] = None  # nothing here needs it, and TVM would import it
import numpy as np, tvm
from tvm import relax
from grader.inside.common.executables import make_machine, prepare_linking

@tvm.register_global_func("env.double")
def double(x, out):
    out.copyfrom(2 * x.numpy())

def built(with_code):
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType([4], "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            y = builder.emit(relax.op.call_dps_packed("env.double", [x], x.ty))
            y = builder.emit_te(tvm.topi.add, y, y) if with_code else y
            y = builder.emit_output(y)
        builder.emit_func_output(y)
    return relax.build(builder.get(), "llvm")

def result(machine):
    return machine["main"](tvm.runtime.tensor(np.ones(4, "float32"))).numpy().tolist()

def of_both(make):
    return [result(make(built(with_code))) for with_code in (False, True)]

def for_c():
    a = tvm.te.placeholder((4,), "float32", "a")
    function = tvm.te.create_prim_func([a, tvm.te.compute((4,), lambda i: a[i] + 1.0)])
    return tvm.compile(tvm.IRModule({"main": function}), "c").jit()

def asked(compiler):
    built(False).jit(fcompile=lambda *_, **__: compiler.append("asked"))

def tell(name, ask):
    try:
        told[name] = ask()
    except Exception as error:
        told[name] = f"{type(error).__name__}: {error}"

told, folder = {}, sys.argv[1]
tell("unmended", lambda: result(relax.VirtualMachine(built(False), tvm.cpu())))
tell("made", lambda: of_both(make_machine))
for _ in range(2):
    prepare_linking()
tell("machine", lambda: of_both(lambda built: relax.VirtualMachine(built, tvm.cpu())))
tell("for c", for_c)
tell("library", lambda: built(True).export_library("library.so", workspace_dir=folder))
compiler = []
tell("named", lambda: asked(compiler))
told["compiler"] = compiler
print(json.dumps(told))
"""

RIGHT = [[2.0] * 4, [4.0] * 4]
REFUSED = "AssertionError: Target triple should not be empty"


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, object]:
    """What TVM does in a process in whose environment no compiler is found."""
    kept = {key: value for key, value in os.environ.items() if key not in ("CC", "CXX")}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path_factory.mktemp("libraries"))],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**kept, "PATH": "/nonexistent"},
    )
    assert "" == done.stderr
    return json.loads(done.stdout)


def test_tvm_asks_for_a_compiler_where_there_is_no_code(told: Mapping[str, object]) -> None:
    """A TVM that does not ask any more needs no `grader/inside/common/executables.py`."""
    assert REFUSED == told["unmended"]


@pytest.mark.parametrize("linked", ["for c", "library"])
def test_what_is_linked_says_what_is_missing(told: Mapping[str, object], linked: str) -> None:
    """A notebook may export a library, or build for the target "c": that needs a compiler."""
    error, _, message = str(told[linked]).partition(": ")
    assert "no_compiler" == recognise(error, message).kind
    assert "g++, gcc and clang are not in PATH" in message


@pytest.mark.parametrize("way", ["made", "machine"])
def test_an_executable_runs_with_and_without_code(told: Mapping[str, object], way: str) -> None:
    assert RIGHT == told[way]


def test_whoever_names_a_compiler_has_it_called(told: Mapping[str, object]) -> None:
    assert ["asked"] == told["compiler"]
