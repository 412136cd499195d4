"""The benchmark of hostile files, on small ones."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "hostile_files.py"


def test_small_files_are_read_and_rendered(tmp_path: Path) -> None:
    """No duration counts: on a busy core a small file can take longer than a large one may."""
    command = [sys.executable, BENCHMARK, "--size", "0.01", "--only", "quotations"]
    command += ["--seconds", "inf"]
    done = subprocess.run(
        [*command, "--json", tmp_path / "rows.json"], capture_output=True, text=True
    )
    rows = json.loads((tmp_path / "rows.json").read_text())
    assert (0, "0 too much") == (done.returncode, done.stdout.splitlines()[-1].split(", ")[1])
    assert {"reading", "rendering"} == {row["stage"] for row in rows}
    assert {"read", "rendered", "refused"} >= {row["end"] for row in rows}


def test_archives_are_read_as_one_students(tmp_path: Path) -> None:
    command = [sys.executable, BENCHMARK, "--archives", "--only", "damaged stream"]
    done = subprocess.run(
        [*command, "--json", tmp_path / "rows.json"], capture_output=True, text=True
    )
    (row,) = json.loads((tmp_path / "rows.json").read_text())
    assert (0, "unpacking", "all") == (done.returncode, row["stage"], row["end"])
