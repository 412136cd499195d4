"""A notebook for the tests: a real IPython shell with the capture watching it."""

from __future__ import annotations

import os

os.environ.update(TVM_BIND_THREADS="0", TVM_NUM_THREADS="1")  # before the first import of TVM

import atexit
import pickle
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import torch
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from grader.inside.kernel.capture import Watcher
from grader.messages.kernel import ArgumentSpec, Capture, CaptureFailure, EntrySpec
from tests.inside.kernel.forked import Programs

torch.set_num_threads(1)

ENTRIES = (
    EntrySpec("emit_te", "function", ("create_model_via_emit_te", "create_model_via_emit_te*")),
    EntrySpec(
        "torch_extern",
        "function",
        ("create_model_with_torch_func", "create_model_with_torch_func*"),
    ),
    EntrySpec("schedule", "schedule", ("sch", "sch*", "*")),
)

ARGUMENTS = (
    ArgumentSpec("parameters", ("weights",), file="weights.pkl"),
    ArgumentSpec("batch_size", ("batch",), (4, 1, 8, 8)),
    ArgumentSpec("input_shape", ("*shape",), (4, 1, 8, 8)),
    ArgumentSpec("image", ("image",), (4, 1, 8, 8)),
    ArgumentSpec("module", ("mod",), part="emit_te"),
)
"""What entry points may be given by the names of their parameters."""

PREAMBLE = """
import numpy as np
import torch
import tvm
from tvm import relax, te, topi
from tvm.script import relax as R
from tvm.script import tirx as T
"""

BUILDER = """
def build_model(scale=1.0, extern=None, pool=False):
    bb = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor((4, 1, 8, 8), "float32"))
    w = relax.const(np.full((2, 1, 3, 3), scale, "float32"), "float32")
    with bb.function("main", [x]):
        with bb.dataflow():
            if extern is None:
                lv = bb.emit_te(topi.nn.conv2d, x, w, 1, 0, 1)
            else:
                lv = bb.emit(relax.op.call_dps_packed(
                    extern, (x, w), R.Tensor((4, 2, 6, 6), "float32")))
            gv = bb.emit_output(bb.emit_te(topi.nn.relu, lv))
        bb.emit_func_output(gv)
    return bb.get()
"""

SCHEDULED = """
block = sch.get_sblock("conv2d_nchw", func_name="conv2d")
sch.parallel(sch.get_loops(block)[0])
"""


class Notebook:
    """Runs cells as a kernel does, and keeps what the capture emitted."""

    def __init__(self, shell: Any, entries: tuple[EntrySpec, ...]) -> None:
        self.shell = shell
        self.emitted: list[Capture | CaptureFailure] = []
        self.watcher = Watcher(shell, entries, self.emitted.append)

    def run(self, cell: str, *, fails: bool = False) -> Any:
        """Run one cell; the cell, not the capture, decides whether it fails."""
        result = self.shell.run_cell(cell, store_history=True)
        assert result.success is not fails
        return result

    def captures(self, part: str) -> list[Capture]:
        return [each for each in self.emitted if isinstance(each, Capture) and each.part == part]

    def failures(self, part: str) -> list[CaptureFailure]:
        return [
            each for each in self.emitted if isinstance(each, CaptureFailure) and each.part == part
        ]

    @property
    def faults(self) -> list[str]:
        return list(self.watcher.faults.texts)


@pytest.fixture(scope="session")
def output_of() -> Iterator[Callable[[str], str]]:
    """What a program prints that has a process of its own, whose TVM it may change."""
    with Programs() as programs:
        yield programs.output_of


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Any]:
    """An IPython shell of its own in an empty folder, as `get_ipython()` finds it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.colors = "nocolor"
    config.InteractiveShell.ipython_dir = str(tmp_path / ".ipython")
    shell = InteractiveShell.instance(config=config)
    yield shell
    atexit.unregister(shell.atexit_operations)  # it collects garbage, for a quarter of a second
    shell.restore_sys_module_state()
    InteractiveShell.clear_instance()


@pytest.fixture
def notebook(shell: Any) -> Iterator[Notebook]:
    """A notebook whose first two cells import TVM and define `build_model`."""
    yield from _begun(Notebook(shell, ENTRIES))


@pytest.fixture
def given(shell: Any) -> Iterator[Notebook]:
    """The same where the grader knows some names of parameters."""
    Path("weights.pkl").write_bytes(pickle.dumps({"scale": 2.0}))
    entries = (msgspec.structs.replace(each, arguments=ARGUMENTS) for each in ENTRIES)
    yield from _begun(Notebook(shell, tuple(entries)))


def _begun(notebook: Notebook) -> Iterator[Notebook]:
    notebook.watcher.attach()
    notebook.run(PREAMBLE)
    notebook.run(BUILDER)
    yield notebook
    notebook.watcher.detach()
    assert notebook.faults == []
