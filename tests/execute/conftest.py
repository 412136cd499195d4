"""Running small notebooks in a real sandbox."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from nbformat.v4 import new_code_cell, new_notebook

from grader.assignment import Limits
from grader.execute.kernel import KernelOrder
from grader.execute.notebook import execute_notebook
from grader.execute.result import Execution
from grader.messages.kernel import EntrySpec
from grader.progress import Progress, Silent
from grader.sandbox.interface import Sandbox

ENTRIES = (EntrySpec(part="model", kind="function", names=("create_model",)),)


@pytest.fixture
def own_temporary_folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder for this test's temporary files alone, with a name short enough for sockets."""
    folder = tempfile.mkdtemp(prefix="t-", dir="/tmp")
    monkeypatch.setattr(tempfile, "tempdir", folder)
    yield Path(folder)
    shutil.rmtree(folder)


def run_cells(
    sandbox: Sandbox,
    *cells: str,
    files: dict[str, bytes] | None = None,
    limits: Limits | None = None,
    progress: Progress | None = None,
    clock: Callable[[], float] = time.monotonic,
    preamble: str = "",
    is_preamble_run: bool = False,
) -> Execution:
    """Run code cells and return what came out."""
    notebook = new_notebook(cells=[new_code_cell(cell) for cell in cells])
    order = KernelOrder(
        sandbox,
        ENTRIES,
        files or {},
        limits or Limits(cell_seconds=60),
        preamble=preamble,
        is_preamble_run=is_preamble_run,
    )
    return execute_notebook(notebook, order, progress or Silent(), clock=clock)
