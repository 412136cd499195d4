"""Whether TVM can use a GPU here: a process of its own asks, for drivers may crash."""

import re
import subprocess
import sys
from collections.abc import Callable

import msgspec

from grader.decoding import prepared

_PROGRAM = """
import json, tvm
for kind in ("cuda", "rocm"):
    device = tvm.device(kind, 0)
    if device.exist:
        found = {"kind": kind, "name": device.device_name, "version": device.compute_version or ""}
        print(json.dumps(found))
        break
"""
_SECONDS = 60


class Gpu(msgspec.Struct, frozen=True):
    """A GPU: `kind` is the name of its target, as `cuda`; `version` its architecture, as `8.0`."""

    kind: str
    name: str
    version: str

    @property
    def arch(self) -> str:
        """The architecture as targets of TVM have it: `sm_80`, or that of ROCm as it is."""
        plain = re.fullmatch(r"(\d+)\.(\d+)", self.version)
        return f"sm_{plain[1]}{plain[2]}" if plain else self.version


def ask_tvm() -> bytes:
    """Return what TVM says of this machine's first GPU, nothing where it finds none."""
    words = [sys.executable, "-c", _PROGRAM]
    try:
        done = subprocess.run(words, capture_output=True, timeout=_SECONDS, check=False)  # noqa: S603 - our own program
    except subprocess.TimeoutExpired:
        return b""
    return done.stdout if done.returncode == 0 else b""


def find_gpu(ask: Callable[[], bytes] = ask_tvm) -> Gpu | None:
    """Return the GPU that TVM can use, None where there is none."""
    lines = ask().strip().splitlines()
    try:
        return msgspec.json.decode(lines[-1], type=prepared(Gpu)) if lines else None
    except msgspec.DecodeError:
        return None
