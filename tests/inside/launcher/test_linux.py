"""What a system hides of its processor is found, and memory is put into large pages."""

from __future__ import annotations

import platform
import subprocess
import sys
from pathlib import Path

import pytest

from grader.inside.launcher.linux import hidden_features
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


COLLAPSING = """
import re
from pathlib import Path
from grader.inside.launcher import linux

def huge():
    told = Path("/proc/self/smaps_rollup").read_text()
    return int(re.search(r"AnonHugePages: +([0-9]+) kB", told)[1])

kept = [b"x" * 2**16 + b"%d" % number for number in range(1000)]
before = huge()
linux.close_own_proc()
linux.collapse_memory()
print(huge() - before > 2**15, kept == [b"x" * 2**16 + b"%d" % number for number in range(1000)])
"""


@pytest.mark.skipif(
    tuple(map(int, platform.release().split(".")[:2])) < (6, 1), reason="Linux 6.1 can do it"
)
def test_memory_is_put_into_large_pages_and_holds_what_it_held() -> None:
    words = [sys.executable, "-c", COLLAPSING]
    told = subprocess.run(words, capture_output=True, text=True, check=True, cwd=ROOT)
    assert "True True\n" == told.stdout
