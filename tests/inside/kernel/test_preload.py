"""What student kernels find in place before their first cell."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

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
    command = [sys.executable, "-c", DETECTED + more, folder / "cpuinfo"]
    return json.loads(subprocess.run(command, capture_output=True, check=True, timeout=120).stdout)


def test_a_detected_target_has_nothing_that_the_system_hides(tmp_path: Path) -> None:
    kept, left_out, got = detect("sse2", CALLED, tmp_path)
    assert kept
    assert {"-avx", "-avx2", "-fma", "-f16c"} <= set(left_out)
    assert got == [3.0] * 64


def test_where_nothing_is_hidden_it_is_as_tvm_detects_it(tmp_path: Path) -> None:
    shown = "avx avx2 fma f16c avx512f avx512bw avx512cd avx512dq avx512vl"
    assert detect(shown, "print(json.dumps(str(target) == str(before)))", tmp_path) is True
