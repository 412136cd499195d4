"""What a launcher has imported before it forks, in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

ENVIRONMENT = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "TVM_NUM_THREADS": "1"}


def after_preparing(preload: str, expression: str) -> Any:
    """Return what an expression is worth in a process that has made a launcher's imports."""
    code = (
        "import json, os, sys\nfrom grader.launch.server import prepare\n"
        f"prepare({preload!r})\nprint(json.dumps({expression}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **ENVIRONMENT},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize("preload", ["student", "pure", "bare"])
def test_no_import_starts_a_thread(preload: str) -> None:
    """A forked child would have the locks of that thread and not the thread: it would hang."""
    assert after_preparing(preload, "len(os.listdir('/proc/self/task'))") == 1


def test_a_pure_one_has_tvm_without_pytorch() -> None:
    loaded = "['tvm' in sys.modules, sys.modules['torch'] is None, 'ipykernel' in sys.modules]"
    assert after_preparing("pure", loaded) == [True, True, False]


def test_that_of_kernels_has_all_that_notebooks_import() -> None:
    names = ["torch", "tvm.relax", "tvm.topi", "IPython", "ipykernel.kernelapp", "cloudpickle"]
    missing = f"[name for name in {names!r} if name not in sys.modules]"
    assert after_preparing("student", missing) == []


@pytest.mark.parametrize(
    ("preload", "packages"),
    [
        ("student", ["kernel", "launch", "messages", "runner", "timing"]),
        ("pure", ["launch", "messages", "runner", "timing"]),
    ],
)
def test_nothing_of_the_grader_is_loaded_that_a_child_does_not_need(
    preload: str, packages: list[str]
) -> None:
    """Neither the referee nor anything that knows of answers ever stands in a launcher."""
    loaded = (
        "sorted({name.split('.')[1] for name in sys.modules if name.startswith('grader.')"
        " and hasattr(sys.modules[name], '__path__')})"
    )
    assert after_preparing(preload, loaded) == packages
    single = "sorted(n for n in sys.modules if n.startswith('grader.') and n.count('.') == 1"
    single += " and not hasattr(sys.modules[n], '__path__'))"
    assert after_preparing(preload, single) == []


def test_torchvision_can_be_imported_afterwards() -> None:
    assert after_preparing("student", "bool(__import__('torchvision').transforms)")
