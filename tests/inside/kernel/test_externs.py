"""Externs: what is remembered, what travels with a module, and what happens when that changes."""

from __future__ import annotations

import os
import pickle
import re
import subprocess
import sys
from pathlib import Path

import pytest
import tvm
import tvm_ffi

import grader
from grader.inside.kernel.externs import ExternRegistry, called_names
from grader.messages.kernel import Capture
from tests.inside.kernel.conftest import Notebook

PART = "torch_extern"
ENTRY = "def create_model_with_torch_func():\n    return build_model(extern='env.conv2d')\n"

EXTERN = """
@tvm.register_global_func("env.conv2d", override=True)
def torch_conv2d(x, w, out):
    result = torch.nn.functional.conv2d(torch.from_dlpack(x), torch.from_dlpack(w))
    torch.from_dlpack(out).copy_(result * factor())
"""

MODULE = """
from tvm.script import ir as I
@I.ir_module(check_well_formed=False)
class Module:
    @T.prim_func
    def inner(A: T.Buffer((1,), "float32")):
        T.evaluate(T.call_packed("env.inner", A.data))

    @R.function
    def main(x: R.Tensor((1,), "float32")):
        a = R.call_dps_packed("env.dps", (x,), R.Tensor((1,), "float32"))
        b = R.call_packed("env.packed", a, ty_args=R.Tensor((1,), "float32"))
        return b
"""

ELSEWHERE = """
import pickle, sys
import numpy as np, tvm
from pathlib import Path
mod = tvm.ir.load_json(Path("module.json").read_text())
function = pickle.loads(Path("env.conv2d").read_bytes())
tvm.register_global_func("env.conv2d", function, override=True)
vm = tvm.relax.VirtualMachine(tvm.relax.build(mod, "llvm"), tvm.cpu())
print(float(vm["main"](tvm.runtime.tensor(np.ones((4, 1, 8, 8), "float32"))).numpy().max()))
"""


HALVE = """
import torch

def halve(x: torch.Tensor) -> torch.Tensor:
    return x / 2
"""


@pytest.fixture(autouse=True)
def clean_registry() -> object:
    """Leave no extern behind."""
    yield
    for name in ("env.conv2d", "env.other", "env.q"):
        if tvm_ffi.get_global_func(name, allow_missing=True) is not None:
            tvm_ffi.registry.remove_global_func(name)


def run_elsewhere(capture: Capture, folder: Path) -> float:
    """Run a capture on ones in a process that has never seen the notebook."""
    (folder / "module.json").write_bytes(capture.module)
    for name, content in capture.externs.items():
        (folder / name).write_bytes(content)
    environment = dict(os.environ, PYTHONPATH=str(Path(grader.__file__).parents[1]))
    command = [sys.executable, "-c", ELSEWHERE]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return float(done.stdout)


class TestExternsTravelWithTheModule:
    def test_a_pickle_works_in_a_process_without_the_notebook(
        self, notebook: Notebook, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        notebook.run("%%writefile beside.py\nLIST = [2.0]\ndef first():\n    return LIST[0]")
        notebook.run("from beside import first\nhalf = tvm.runtime.tensor(np.array(0.5))")
        notebook.run("def factor():\n    return first() * float(half.numpy())")
        notebook.run(EXTERN + ENTRY)
        del sys.modules["beside"]
        (capture,) = notebook.captures(PART)
        assert list(capture.externs) == ["env.conv2d"]
        assert run_elsewhere(capture, tmp_path_factory.mktemp("elsewhere")) == 9.0

    @pytest.mark.parametrize(
        "registration",
        [
            "tvm.register_global_func('env.conv2d', conv)",
            "tvm_ffi.register_global_func('env.conv2d')(conv)",
            "tvm_ffi.registry.register_global_func('env.conv2d', f=conv, override=True)",
            "from tvm import register_global_func as reg; reg('env.conv2d', conv)",
            "tvm.register_global_func('env.other', conv)\n"
            "tvm.register_global_func('env.conv2d', tvm.get_global_func('env.other'))",
        ],
    )
    def test_every_spelling_is_noticed(self, notebook: Notebook, registration: str) -> None:
        notebook.run("import tvm_ffi\ndef conv(x, w, out): return 42")
        notebook.run(registration)
        notebook.run(ENTRY)
        (capture,) = notebook.captures(PART)
        assert pickle.loads(capture.externs["env.conv2d"])(1, 2, 3) == 42

    def test_other_registered_functions_stay(self, notebook: Notebook) -> None:
        notebook.run("factor = lambda: 1.0\ntvm.register_global_func('env.other', lambda x: x)")
        notebook.run(EXTERN + ENTRY)
        assert [list(each.externs) for each in notebook.captures(PART)] == [["env.conv2d"]]

    def test_an_extern_that_calls_a_registered_one_travels_with_it(
        self, notebook: Notebook
    ) -> None:
        notebook.run("@tvm.register_global_func('env.other')\ndef other(x): return x + 1")
        notebook.run(
            "@tvm.register_global_func('env.conv2d')\ndef conv(x, w, out): return other(x)"
        )
        notebook.run(ENTRY)
        (capture,) = notebook.captures(PART)
        assert pickle.loads(capture.externs["env.conv2d"])(1, 2, 3) == 2

    @pytest.mark.parametrize(
        ("conv", "reason"),
        [
            ("lambda x, w, out: next(numbers)", "generator"),
            ("lambda x, w, out: images.sum()", "larger than 12 MB"),
            ("lambda x, w, out: compiled(x)", "ffi.Function|tvm_ffi|Function"),
            ("tvm_ffi.convert(lambda x: x)", "made by TVM"),
            ("Rude()", "pickling it raised SystemExit"),
        ],
    )
    def test_one_that_cannot_be_pickled_is_named_with_the_reason(
        self, notebook: Notebook, conv: str, reason: str
    ) -> None:
        notebook.run(
            "import tvm_ffi\nnumbers = (number for number in range(3))\n"
            "images = np.zeros(4_000_000)\ncompiled = tvm_ffi.convert(lambda x: x)\n"
            "class Rude:\n    def __call__(self, *a): pass\n"
            "    def __reduce__(self): raise SystemExit"
        )
        notebook.run(f"tvm.register_global_func('env.conv2d', {conv})")
        notebook.run(ENTRY)
        assert notebook.captures(PART) == []
        (failure,) = notebook.failures(PART)
        assert (failure.reason, failure.cell) == ("extern_not_portable", 5)
        assert failure.message.startswith("env.conv2d: ")
        assert re.search(reason, failure.message)

    @pytest.mark.parametrize(
        ("held", "conv", "value"),
        [
            ("torch.jit.script(halve)", "lambda x, w, out: float(held(torch.tensor(x)))", 2.0),
            (
                "torch.jit.trace(halve, torch.tensor(1.0))",
                "lambda x, w, out: float(held(torch.tensor(x)))",
                2.0,
            ),
            ("__import__('threading').Lock()", "lambda x, w, out: held.acquire(False)", True),
            ("__import__('threading').RLock()", "lambda x, w, out: held.acquire(False)", True),
            ("open('log.txt', 'w')", "lambda x, w, out: held.write('four')", 4),
            ("open('given.txt')", "lambda x, w, out: held.read()", "three"),
            ("open('given.txt', 'rb')", "lambda x, w, out: held.read()", b"three"),
        ],
    )
    @pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
    def test_what_nobody_can_pickle_is_another_one_of_its_kind_there(
        self,
        notebook: Notebook,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        held: str,
        conv: str,
        value: object,
    ) -> None:
        monkeypatch.chdir(tmp_path)
        Path("given.txt").write_text("three")
        Path("halve.py").write_text(HALVE)
        monkeypatch.syspath_prepend(str(tmp_path))
        notebook.run(f"from halve import halve\nheld = {held}")
        notebook.run(f"tvm.register_global_func('env.conv2d', {conv})\n{ENTRY}")
        (capture,) = notebook.captures(PART)
        assert value == pickle.loads(capture.externs["env.conv2d"])(4.0, None, None)
        notebook.run("getattr(held, 'close', int)()\ndel held")


class TestExternsThatChange:
    def test_one_registered_after_the_entry_point_makes_another_candidate(
        self, notebook: Notebook
    ) -> None:
        notebook.run(ENTRY)
        notebook.run("factor = lambda: 1.0" + EXTERN)
        assert [(each.cell, list(each.externs)) for each in notebook.captures(PART)] == [
            (3, []),
            (4, ["env.conv2d"]),
        ]

    def test_one_registered_again_with_other_arguments_makes_another_candidate(
        self, notebook: Notebook
    ) -> None:
        notebook.run("factor = lambda: 1.0" + EXTERN + ENTRY)
        notebook.run(
            "@tvm.register_global_func('env.conv2d', override=True)\n"
            "def torch_conv2d(x, w, b, out): return 4"
        )
        first, second = notebook.captures(PART)
        assert first.module == second.module
        assert pickle.loads(second.externs["env.conv2d"])(1, 2, 3, 4) == 4

    def test_what_it_uses_counts_too(self, notebook: Notebook) -> None:
        notebook.run("factor = lambda: 1.0" + EXTERN + ENTRY)
        notebook.run("nothing = 1")
        notebook.run("factor = lambda: 2.0")
        assert [each.cell for each in notebook.captures(PART)] == [3, 5]

    def test_the_same_function_again_makes_none(self, notebook: Notebook) -> None:
        notebook.run("factor = lambda: 1.0")
        notebook.run("def conv(x, w, out): return factor()\n" + ENTRY)
        notebook.run("tvm.register_global_func('env.conv2d', conv)")
        notebook.run("tvm.register_global_func('env.conv2d', conv, override=True)")
        assert [each.cell for each in notebook.captures(PART)] == [4, 5]

    def test_a_function_is_pickled_only_when_something_has_changed(
        self, notebook: Notebook
    ) -> None:
        notebook.run(
            "pickled = []\nclass Counting:\n    def __call__(self, x, w, out): pass\n"
            "    def __reduce__(self):\n        __import__('builtins').pickled.append(1)\n"
            "        return (int, ())"
        )
        notebook.run("import builtins; builtins.pickled = []; del pickled")
        notebook.run("tvm.register_global_func('env.conv2d', Counting())\n" + ENTRY)
        notebook.run("a = 1")
        assert notebook.run("pickled").result == [1]

    def test_a_duplicate_without_override_fails_as_ever(self, notebook: Notebook) -> None:
        notebook.run("tvm.register_global_func('env.q', lambda: 1)")
        notebook.run("tvm.register_global_func('env.q', lambda: 2)", fails=True)
        assert notebook.run("tvm.get_global_func('env.q')()").result == 1


class TestEntryPointsThatRegister:
    DEFINITION = (
        "def create_model_with_torch_func():\n"
        "    tvm.register_global_func('env.conv2d', lambda x, w, out: 7)\n"
        "    return build_model(extern='env.conv2d')\n"
    )

    def test_our_call_leaves_the_registry_as_it_was(self, notebook: Notebook) -> None:
        notebook.run(self.DEFINITION)
        (capture,) = notebook.captures(PART)
        assert pickle.loads(capture.externs["env.conv2d"])(1, 2, 3) == 7
        notebook.run("mod = create_model_with_torch_func()")  # fails if it is registered already

    def test_our_call_registers_again_what_the_same_cell_has_registered(
        self, notebook: Notebook
    ) -> None:
        notebook.run(self.DEFINITION + "mod = create_model_with_torch_func()")
        assert notebook.failures(PART) == []
        assert len(notebook.captures(PART)) == 1

    def test_what_was_registered_before_is_there_again(self, notebook: Notebook) -> None:
        notebook.run("tvm.register_global_func('env.conv2d', lambda x, w, out: 1)")
        notebook.run(self.DEFINITION.replace(": 7)", ": 7, override=True)"))
        assert notebook.run("tvm.get_global_func('env.conv2d')(1, 2, 3)").result == 1
        (capture,) = notebook.captures(PART)
        assert pickle.loads(capture.externs["env.conv2d"])(1, 2, 3) == 7

    def test_a_later_registration_goes_before_its_own(self, notebook: Notebook) -> None:
        notebook.run(self.DEFINITION)
        notebook.run("tvm.register_global_func('env.conv2d', lambda x, w, out: 8)")
        results = [
            pickle.loads(each.externs["env.conv2d"])(1, 2, 3) for each in notebook.captures(PART)
        ]
        assert results == [7, 8]


class TestCalledNames:
    def test_all_ways_to_call_by_name_are_seen(self, notebook: Notebook) -> None:
        notebook.run(MODULE)
        found = called_names(notebook.shell.user_ns["Module"])
        assert found >= {"env.inner", "env.dps", "env.packed"}

    def test_a_pure_module_calls_none(self, notebook: Notebook) -> None:
        assert called_names(notebook.shell.user_ns["build_model"]()) == frozenset()


def test_functions_that_tvm_registers_itself_are_no_externs() -> None:
    registry = ExternRegistry()
    registry.attach()
    try:
        scope = {"__name__": "tvm.late", "tvm": tvm}
        exec("tvm.register_global_func('env.q', lambda: 1)", scope)
    finally:
        registry.detach()
    assert registry.functions == {}
