"""The benchmark that holds guards to machine code: where it goes on, and when it fails."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"

BLIND = """
import sys
from contextlib import nullcontext
sys.path.insert(0, sys.argv.pop(1))
import guarded_programs
from tests.inside.common import guarded
from tests.inside.common.test_guarded_programs import beyond

def draw(kind, count, seed):
    found = guarded_programs.Figures()
    found.examine(beyond())
    return found

guarded.Guards.building = lambda _: nullcontext(guarded.PIPELINE)
guarded_programs.draw = draw
sys.exit(guarded_programs.main())
"""


def run(*words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)


def test_an_interrupted_run_goes_on_where_it_was(tmp_path: Path) -> None:
    words = (BENCHMARKS / "guarded_programs.py", "--count", "3", "--keep", tmp_path)
    first = run(*words)
    assert 0 == first.returncode, first.stderr
    assert "divisions: 3 of 3 drawn" in first.stderr
    journal = (tmp_path / "journal").read_bytes()
    assert 3 == journal.count(b"\n")  # the arguments, and a part of each kind
    again = run(*words)
    assert first.stdout == again.stdout, "seconds of a processor would differ"
    (tmp_path / "journal").write_bytes(journal[:-5])
    interrupted = run(*words)
    counts = [
        {name: {**kind, "seconds": 0} for name, kind in json.loads(each.stdout).items()}
        for each in (first, interrupted)
    ]
    assert counts[0] == counts[1]


def test_a_guard_that_sees_nothing_fails_the_run() -> None:
    done = run("-c", BLIND, BENCHMARKS, "--count", "1")
    assert 1 == done.returncode, done.stderr
    (missed, *_) = json.loads(done.stdout)["programs"]["missed"]
    assert missed.startswith("argument 0: ")
