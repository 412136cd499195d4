"""What a launcher has imported before it forks, in a process of its own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from functools import cache
from typing import NamedTuple

import pytest

from grader.inside.common.preload import forgo_backtraces

ENVIRONMENT = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "TVM_NUM_THREADS": "1"}


FACTS = """
import json, os, sys
from grader.inside.launcher.server import prepare
prepare(sys.argv[1])
if sys.argv[3:]:  # a launcher is told of them later
    from grader.inside.kernel.preload import import_besides
    import_besides(sys.argv[3:])
threads = len(os.listdir("/proc/self/task"))
modules = {name: module is not None for name, module in sys.modules.items()}
packages = [name for name, module in sys.modules.items() if hasattr(module, "__path__")]
torchvision = bool(sys.argv[2:] and __import__("torchvision").transforms)
with open("/proc/self/maps") as maps:
    mapped = maps.read().count("libtvm_ffi.so")
print(json.dumps([threads, modules, packages, torchvision, mapped]))
"""

MAPPED = """
import sys
from grader.inside.common.preload import forgo_backtraces

sys.modules["torch"] = None
import tvm_ffi

def mapped():
    with open("/proc/self/maps") as maps:
        return maps.read().count("libtvm_ffi.so")

def fail():
    return tvm_ffi.dtype("no such type")

print(mapped())
if "forgo" in sys.argv:
    forgo_backtraces(fail)
try:
    fail()
except ValueError as error:
    print(mapped())
    print(error)
"""
"""Where a library is loaded, and once more where its symbols were read."""


class Prepared(NamedTuple):
    """A process that has made a launcher's imports.

    `modules` says of each module whether it is there; those that are not may not be imported.
    `mapped` counts the places in memory of a library of TVM.
    """

    threads: int
    modules: dict[str, bool]
    packages: list[str]
    has_torchvision: bool
    mapped: int


@cache
def after_preparing(preload: str, *modules: str) -> Prepared:
    """Make a launcher's imports in a process of its own, which then imports what kernels may."""
    later = ["torchvision"] if preload == "student" else []
    done = subprocess.run(
        [sys.executable, "-c", FACTS, preload, *later, *modules],
        env={**os.environ, **ENVIRONMENT},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return Prepared(*json.loads(done.stdout))


@pytest.mark.parametrize("preload", ["student", "pure", "bare"])
def test_no_import_starts_a_thread(preload: str) -> None:
    """A forked child would have the locks of that thread and not the thread: it would hang."""
    assert 1 == after_preparing(preload).threads


def test_what_an_assignment_imports_is_there_as_far_as_it_is_installed() -> None:
    prepared = after_preparing("student", "torchvision", "nowhere_to_be_found")
    assert prepared.modules["torchvision.transforms"]
    assert 1 == prepared.threads


def test_plotting_is_there_but_for_what_looks_for_ipython() -> None:
    prepared = after_preparing("student", "matplotlib")
    assert prepared.modules["matplotlib.figure"]
    assert "matplotlib.pyplot" not in prepared.modules
    assert 1 == prepared.threads


def test_a_pure_one_has_tvm_without_pytorch() -> None:
    modules = after_preparing("pure").modules
    assert (True, False) == (modules["tvm"], modules["torch"])
    assert "ipykernel" not in modules


def test_that_of_kernels_has_all_that_notebooks_import() -> None:
    names = ["torch", "tvm.relax", "tvm.topi", "IPython", "ipykernel.kernelapp", "cloudpickle"]
    modules = after_preparing("student").modules
    assert [] == [name for name in names if not modules.get(name)]


def test_that_of_kernels_does_without_a_debugger() -> None:
    modules = after_preparing("student").modules
    assert modules["ipykernel.debugger"]
    assert [] == [name for name in modules if name.startswith(("debugpy", "_pydev", "pydevd"))]


@pytest.mark.parametrize(
    ("preload", "inside", "readers"),
    [
        ("student", {"common", "evaluator", "kernel", "launcher", "library"}, set()),
        ("pure", {"common", "launcher", "mutants", "runner"}, {"evidence", "hotloop"}),
    ],
)
def test_nothing_of_the_grader_is_loaded_that_a_child_does_not_need(
    preload: str, inside: set[str], readers: set[str]
) -> None:
    """Neither the referee nor anything that knows of answers ever stands in a launcher."""
    prepared = after_preparing(preload)
    ours = {name for name in prepared.modules if name.startswith("grader.")}
    loaded = ours & set(prepared.packages)
    kinds = {name for name in ours if name.startswith("grader.evidence.")}
    boxed = re.compile(r"grader\.evidence\.\w+(\.messages|\.inside(\.\w+)*)?")
    assert set() == {name for name in kinds if not boxed.fullmatch(name)}
    assert {"inside", "messages", "timing", *readers} == {name.split(".")[1] for name in loaded}
    assert inside == {name.split(".")[2] for name in ours if name.startswith("grader.inside.")}
    alone = {name for name in ours - loaded if name.count(".") == 1}
    assert {"grader.decoding"} == alone, "it imports msgspec alone"


def test_torchvision_can_be_imported_afterwards() -> None:
    assert after_preparing("student").has_torchvision


def raised(*arguments: str) -> tuple[int, int, str]:
    """Have TVM raise an error: return its library's places before and after, and the message."""
    command = [sys.executable, "-c", MAPPED, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    before, after, message = done.stdout.splitlines()
    return int(before), int(after), message


def test_an_error_of_tvm_reads_no_symbols_where_backtraces_are_forgone() -> None:
    before, after, usual = raised()
    assert before < after
    assert (before, before, usual) == raised("forgo")


@pytest.mark.parametrize("preload", ["student", "pure"])
def test_the_import_of_tvm_has_read_no_symbols(preload: str) -> None:
    loaded, _, _ = raised()
    assert loaded == after_preparing(preload).mapped


def test_what_does_not_fail_forgoes_nothing() -> None:
    with pytest.raises(AssertionError, match="no error"):
        forgo_backtraces(list)
