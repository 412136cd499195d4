"""The benchmark that holds proofs to machine code: where it goes on, and when it fails."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"

NEGATIVE = """
import sys
sys.path.insert(0, sys.argv.pop(1))
import compiled_proofs
from tests.ir.test_compiled import WRONG, index_of

class Proven:
    unproven = None

class Facts:
    functions = {"f": Proven}

def draw(kind, count, seed):
    found = compiled_proofs.Figures()
    found.examine(index_of(*WRONG["negative modulus"]))
    return found

compiled_proofs.read_module = lambda _: Facts
compiled_proofs.draw = draw
sys.exit(compiled_proofs.main())
"""


def run(*words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)


def test_an_interrupted_run_goes_on_where_it_was(tmp_path: Path) -> None:
    words = (BENCHMARKS / "compiled_proofs.py", "--count", "3", "--keep", tmp_path)
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


def test_a_proven_program_that_reads_outside_fails_the_run() -> None:
    done = run("-c", NEGATIVE, BENCHMARKS, "--count", "1")
    assert 1 == done.returncode, done.stderr
    (wild, *_) = json.loads(done.stdout)["programs"]["wild"]
    assert wild.startswith("f: index of local")
