"""What `benchmarks/stages.py` says of a NOTEBOOK that is none: it measures nothing then."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
REFUSED = 2


def refused(word: Path | str) -> str:
    words = [sys.executable, ROOT / "benchmarks" / "stages.py", word]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False, cwd=ROOT)
    assert (REFUSED, "") == (done.returncode, done.stdout), done.stderr
    return done.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("word", "what"),
    [
        ("examples/e2e-conv", "is a folder"),
        ("README.md", "is no notebook"),
        ("nowhere.ipynb", "is no notebook"),
    ],
)
def test_what_is_no_notebook_file_is_said_to_be_none(word: str, what: str) -> None:
    told = refused(word)
    assert f"{word} {what}: name a notebook file" in told
    assert told.endswith("such as examples/e2e-conv/reference.ipynb")


def test_a_notebook_of_no_assignment_is_said_to_be_of_none(tmp_path: Path) -> None:
    shutil.copy(ROOT / "examples" / "e2e-conv" / "reference.ipynb", tmp_path / "hw.ipynb")
    assert "hw.ipynb is of no assignment" in refused(tmp_path / "hw.ipynb")
