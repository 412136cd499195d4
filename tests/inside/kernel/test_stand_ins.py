"""Which package a notebook gets where the real one is installed; the rest is in tests/execute."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import sys
import tqdm.std  # as PyTorch does
from grader.inside.kernel import stand_ins

stand_ins.install(lambda name: True if name in sys.argv else None)
import tqdm.auto
import tqdm.notebook
print(tqdm.tqdm.__module__, tqdm.notebook.tqdm.__module__)
"""


@pytest.mark.parametrize(
    ("installed", "modules"),
    [
        (["ipywidgets"], "tqdm.std tqdm.notebook\n"),
        ([], "grader.inside.kernel.stand_ins grader.inside.kernel.stand_ins\n"),
    ],
)
def test_bars_are_the_real_ones_where_they_can_be_drawn(installed: list[str], modules: str) -> None:
    """Without ipywidgets, those for notebooks raise ImportError when they are made."""
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM, *installed]
    done = subprocess.run(command, capture_output=True, text=True)
    assert modules == done.stdout, done.stderr
