"""What a system hides of its processor is found; what a process gives up is gone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from grader.inside.launcher.linux import hidden_features, landlock_version
from tests.conftest import ROOT


@pytest.mark.parametrize(
    ("cpuinfo", "hidden"),
    [
        ("flags\t: fma avx avx2", ["avx512f"]),
        ("flags : avx avx2 fma avx512f", []),
        ("Features : asimd", []),
    ],
)
def test_features_that_the_system_does_not_show_are_found(
    cpuinfo: str, hidden: list[str], tmp_path: Path
) -> None:
    (tmp_path / "cpuinfo").write_text(f"processor : 0\n{cpuinfo}\n")
    promised = {"avx", "avx2", "fma", "avx512f", "sse2"}
    assert hidden_features(promised, tmp_path / "cpuinfo") == hidden


CLOSED = """
import ctypes, os, sys
from grader.inside.launcher import linux

kept = os.open(sys.argv[1], os.O_RDONLY)
parent = os.getpid()
child = os.fork()
if child:
    os._exit(os.waitpid(child, 0)[1])
linux.gain_nothing_by_exec()
linux.close_files()
print(os.read(kept, 9).decode())
for path in (sys.argv[1], "/proc/meminfo", "/proc/self/status", f"/proc/{parent}/environ"):
    try:
        os.open(path, os.O_RDONLY)
        print("opened", path)
    except PermissionError:
        pass
PTRACE_SEIZE = 0x4206
libc = ctypes.CDLL(None)
libc.ptrace.argtypes = [ctypes.c_long] * 4
print(libc.ptrace(PTRACE_SEIZE, parent, 0, 0))
"""


@pytest.mark.skipif(landlock_version() == 0, reason="this kernel has no Landlock")
def test_what_closes_files_reads_those_it_has_and_reaches_no_other_process(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("content")
    words = [sys.executable, "-c", CLOSED, tmp_path / "file"]
    told = subprocess.run(words, capture_output=True, text=True, check=True, cwd=ROOT)
    assert "content\n-1\n" == told.stdout
