"""What a benchmark does in a child process, and how that ends."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"

SCRIPT = """
import os, signal, sys
sys.path.insert(0, sys.argv[1])
from child import ChildError, in_child

def forever():
    while True:
        pass

print(in_child(dict[str, int], lambda: {"a": 1}))
for work in (lambda: os.kill(os.getpid(), signal.SIGSEGV), forever, lambda: 1 / 0):
    try:
        in_child(int, work, 1)
    except ChildError as error:
        print(type(error).__name__, error)
"""


def test_an_answer_comes_back_and_every_other_end_is_told() -> None:
    words = [sys.executable, "-c", SCRIPT, BENCHMARKS]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=True)
    assert [
        "{'a': 1}",
        "ChildError ended by SIGSEGV",
        "EndlessError not done after 1 s of a processor",
        "ChildError exit code 1",
    ] == done.stdout.splitlines()
    assert "ZeroDivisionError" in done.stderr
