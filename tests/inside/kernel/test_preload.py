"""What student kernels find in place before their first cell."""

from __future__ import annotations

import importlib
import inspect
import json
import linecache
import subprocess
import sys
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any, cast

import pytest
from pygments.lexers.python import Python3Lexer

from grader.inside.kernel.preload import rehearse_colours, remember_files_without_module

DETECTED = """
import json, sys
from pathlib import Path
import numpy as np
import tvm
from tvm import te
from grader.inside.kernel.preload import detect_what_the_system_shows

before = tvm.target.Target.from_device("cpu")
for _ in range(2):  # a kernel, and %load_ext in a notebook
    detect_what_the_system_shows(Path(sys.argv[1]))
target = tvm.target.Target.from_device("cpu")
"""
CALLED = """
A = te.placeholder((64,), name="A")
B = te.compute((64,), lambda i: A[i] * 2.0 + 1.0, name="B")
built = tvm.compile(tvm.IRModule({"main": te.create_prim_func([A, B])}), target)
given, got = (tvm.runtime.tensor(np.ones(64, "float32")) for _ in range(2))
built["main"](given, got)
rest = {name: str(value) for name, value in target.attrs.items() if name != "mattr"}
kept = rest == {name: str(value) for name, value in before.attrs.items()}
print(json.dumps([kept, [str(each) for each in target.attrs["mattr"]], got.numpy().tolist()]))
"""


def detect(flags: str, more: str, folder: Path) -> Any:
    """Run a program on a system that shows these features of its processor."""
    (folder / "cpuinfo").write_text(f"flags : {flags}\n")
    command = [sys.executable, "-c", DETECTED + more, str(folder / "cpuinfo")]
    return json.loads(subprocess.run(command, capture_output=True, check=True, timeout=120).stdout)


def test_a_detected_target_has_nothing_that_the_system_hides(tmp_path: Path) -> None:
    kept, left_out, got = detect("sse2", CALLED, tmp_path)
    assert kept
    assert {"-avx", "-avx2", "-fma", "-f16c"} <= set(left_out)
    assert got == [3.0] * 64


def test_where_nothing_is_hidden_it_is_as_tvm_detects_it(tmp_path: Path) -> None:
    shown = "avx avx2 fma f16c avx512f avx512bw avx512cd avx512dq avx512vl"
    assert detect(shown, "print(json.dumps(str(target) == str(before)))", tmp_path) is True


class TestFilesWithoutModule:
    @pytest.fixture(autouse=True)
    def remembered(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(inspect, "getmodule", inspect.getmodule)
        remember_files_without_module()

    @pytest.fixture
    def looked_at(self, monkeypatch: pytest.MonkeyPatch) -> list[object]:
        """Return what Python looks at to find the module of a file."""
        found: list[object] = []

        def ismodule(each: object) -> bool:
            found.append(each)
            return isinstance(each, ModuleType)

        monkeypatch.setattr(inspect, "ismodule", ismodule)
        return found

    def test_all_modules_are_looked_through_once(self, looked_at: list[object]) -> None:
        frame = called_in("<a cell>")
        assert inspect.getmodule(frame, "<a cell>") is None
        assert len(sys.modules) <= len(looked_at) + 100
        looked_at.clear()
        assert inspect.getmodule(frame, "<a cell>") is None
        assert looked_at == [frame]

    def test_a_stack_is_what_it_was(self) -> None:
        before, again = inspect.stack(), inspect.stack()
        assert [each[1:4] for each in before[1:]] == [each[1:4] for each in again[1:]]

    def test_no_source_of_the_grader_is_left_in_memory(self) -> None:
        """At the levels that hide the grader's files, a notebook finds none here either."""
        assert {} == linecache.cache

    def test_a_file_may_become_a_module(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = tmp_path / "written_by_a_cell.py"
        path.write_text("")
        frame = called_in(str(path))
        assert inspect.getmodule(frame, str(path)) is None
        monkeypatch.syspath_prepend(tmp_path)
        module = importlib.import_module("written_by_a_cell")
        assert inspect.getmodule(frame, str(path)) is module


def called_in(filename: str) -> FrameType:
    """Return the frame of code that says it is from this file."""
    names: dict[str, Any] = {}
    exec(compile("import sys\nframe = sys._getframe()", filename, "exec"), names)
    return cast(FrameType, names["frame"])


def test_a_kernel_need_not_make_what_colours_python() -> None:
    rehearse_colours()
    assert "_tokens" in vars(Python3Lexer)
