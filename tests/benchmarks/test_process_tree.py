"""Processor time is counted whoever ends how, and memory with it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"

MEASURE = """
import dataclasses, json, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from process_tree import measure
usage = measure([sys.executable, "-c", sys.argv[2]], Path(sys.argv[3]))
print(json.dumps({**dataclasses.asdict(usage), "cpu_s": usage.cpu_s}))
"""

BURN = """
import os, signal, subprocess, sys, time
def burn():
    block = bytearray(64 * 2**20)
    while time.process_time() < 1: pass
    time.sleep(0.2)  # until it was seen at the end
"""

WAITED = "if os.fork() == 0: burn(); os._exit(3)\nos.wait()"
IGNORED = """
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
if os.fork() == 0: burn(); os._exit(3)
try: os.wait()
except ChildProcessError: pass
"""
WARDEN_IGNORED = """
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
if os.fork() == 0:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    if os.fork() == 0: burn(); os._exit(3)
    os.wait(); os._exit(0)
try: os.wait()
except ChildProcessError: pass
"""
ORPHAN = "if os.fork() == 0:\n    time.sleep(0.3); burn(); os._exit(3)"


@pytest.mark.parametrize("code", [WAITED, IGNORED, WARDEN_IGNORED, ORPHAN])
def test_a_second_of_work_is_a_second_however_it_ends(tmp_path: Path, code: str) -> None:
    """This runs in a process of its own: it waits for every child that there is."""
    words = [sys.executable, "-c", MEASURE, BENCHMARKS, BURN + code, tmp_path / "log"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=True)
    usage = json.loads(done.stdout)
    assert 0 == usage["code"], (tmp_path / "log").read_text()
    assert 0.95 < usage["cpu_s"] < 1.5
    if code != ORPHAN:  # its memory is there only after the command's end
        assert 64 < usage["peak_mb"] < 200
