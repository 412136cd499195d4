"""Real notebooks in a real kernel, as a student runs them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode

ROOT = Path(__file__).resolve().parents[2]
COURSE = ROOT / "tests" / "courses" / "small"
TIME_LIMIT = 400

IMPORTS = """
import os
os.environ["TVM_BIND_THREADS"] = "0"
import numpy as np
import torch
import tvm
from tvm import relax, te, topi
from tvm.script import relax as R

rows, columns = np.arange(16)[:, None], np.arange(8)
weight = (((rows * 7 + columns * 3) % 11 - 5) / 8).astype("float32")
bias = ((np.arange(16) * 5 % 7 - 3) / 4).astype("float32")
"""

LOAD = """
try:
    get_ipython().run_line_magic("load_ext", "grader")
    get_ipython().run_line_magic("grader", "use trio")
except ImportError:
    get_ipython().register_magic_function(
        lambda line: print("The grader is not installed here: nothing was checked."),
        magic_name="grader",
    )
"""

SOLVED = """
def create_model():
    bb = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor((4, 8), "float32"))
    with bb.function("main", [x]):
        with bb.dataflow():
            hidden = bb.emit_te(topi.nn.dense, x, relax.const(weight), relax.const(bias))
            output = bb.emit_output(bb.emit_te(topi.nn.relu, hidden))
        bb.emit_func_output(output)
    return bb.get()
"""

REGISTERED = """
@tvm.register_global_func("env.dense", override=True)
def dense(x, weight, out):
    x, weight, out = (torch.from_dlpack(tensor) for tensor in (x, weight, out))
    out.copy_(torch.nn.functional.linear(x, weight))
"""

WITHOUT_BIAS = """
def create_extern_model():
    bb = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor((4, 8), "float32"))
    with bb.function("main", [x]):
        with bb.dataflow():
            arguments = relax.Tuple([x, relax.const(weight)])
            kind = R.Tensor((4, 16), "float32")
            hidden = bb.emit(relax.op.call_dps_packed("env.dense", arguments, kind))
            output = bb.emit_output(bb.emit_te(topi.nn.relu, hidden))
        bb.emit_func_output(output)
    return bb.get()
"""

SCHEDULED = """
sch = tvm.s_tir.Schedule(create_model())
sch.parallel(sch.get_loops(sch.get_sblock("compute", func_name="relu"))[0])
"""

STUB = """
def create_model():
    raise NotImplementedError
"""

RAISES = """
def create_model():
    bb = relax.BlockBuilder()
    return topi.no_such_operator
"""


def run_notebook(
    folder: Path, *sources: str, tags: Sequence[list[str]] = (), **environment: str
) -> NotebookNode:
    """Run cells in a kernel of its own, to the last one, as "Run all" would; return the notebook.

    A cell that fails ends it, unless it has the tag `raises-exception`: nothing of the self-check
    may. `tags` has those of each cell.
    """
    notebook = write_notebook(folder / "notebook.ipynb", *sources)
    for cell, own in zip(notebook.cells, tags, strict=False):
        cell.metadata["tags"] = own
    client = NotebookClient(
        notebook,
        timeout=TIME_LIMIT,
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
    )
    set_up = {"PYTHONPATH": str(ROOT), "GRADER_COURSE": str(COURSE), **environment}
    client.execute(env={**os.environ, **set_up})
    return notebook


def write_notebook(path: Path, *sources: str, **metadata: Any) -> NotebookNode:
    """Write and return a notebook of code cells."""
    cells = [nbformat.v4.new_code_cell(source.strip()) for source in sources]
    notebook = nbformat.v4.new_notebook(cells=cells, metadata=metadata)
    nbformat.write(notebook, path)
    return notebook


def shown(notebook: NotebookNode, source: str, kind: str = "text/plain") -> str:
    """Return what the last cell of this text has shown."""
    cell = [each for each in notebook.cells if each.source == source.strip()][-1]
    texts = [each.text if "text" in each else each.data[kind] for each in cell.outputs]
    return "".join(texts)
