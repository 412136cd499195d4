"""Killed at any moment: what was reported as done is there, and the database opens."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROUNDS = {"adjust": 25, "batch": 25, "migrate": 25, "regrade": 25}


@pytest.mark.parametrize("work", ROUNDS)
def test_nothing_that_was_reported_as_done_is_lost(work: str, url: str, tmp_path: Path) -> None:
    """A hundred times in each database."""
    words = ["-m", "tests.gradebook.victim", work, url, tmp_path, str(ROUNDS[work]), "7"]
    done = subprocess.run([sys.executable, *words], cwd=ROOT, capture_output=True, text=True)
    assert 0 == done.returncode, done.stderr
    found = json.loads(done.stdout)
    assert (ROUNDS[work], 0) == (found["rounds"], found["lost"])
    assert found["done"] >= 3, "too little was done before it was killed to say"
