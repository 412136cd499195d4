"""Benchmarks still run: small, for what they print and not for the figures, which nobody trusts."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.gradebook.postgres import find_programs

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
MLP = BENCHMARKS.parent / "examples" / "e2e-mlp" / "reference.ipynb"
MISSED = 1
"""The exit code where a bar is missed, as it may be on a machine that does other work as well."""

SMALL = {
    "cluster.py": (
        ["--workers", "1", "--submissions", "2", "--seconds", "0.01"],
        {"cores", "sizes"},
    ),
    "collecting.py": (
        ["--size", "0.01", "--students", "3", "--only", "zips"],
        {"rows"},
    ),
    "guarded_programs.py": (["--count", "5"], {"programs", "divisions"}),
    "decoders.py": (["--examples", "1"], {"module"}),
    "gpu_alarms.py": (["--each", "1"], {"right", "alarm", "faults"}),
    "reference_schedule.py": (["--rounds", "1", "--budget-seconds", "1"], {"limit_ratio"}),
    "stages.py": (
        ["--rounds", "1", "--load", "1", "--deep", str(MLP)],
        {"median_s", "ratio", "load", "rounds", "processes"},
    ),
    "starts.py": (["--count", "2"], {"median_start_ms"}),
    "warm_throughput.py": (
        ["--submissions", "2", "--jobs", "2", "--load", "1"],
        {"wall_s", "cpu_s", "peak_mb", "costs", "ratios"},
    ),
}
"""The arguments, and what stands in the JSON among other things."""


def run(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a benchmark to its end; a traceback is none."""
    words = [sys.executable, BENCHMARKS / name, *arguments]
    done = subprocess.run(words, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode in (0, MISSED), done.stderr
    assert "Traceback" not in done.stderr, done.stderr
    return done


@pytest.mark.graded
@pytest.mark.parametrize("name", SMALL)
def test_it_writes_what_it_found(name: str, tmp_path: Path) -> None:
    arguments, found = SMALL[name]
    run(name, *arguments, "--json", str(tmp_path / "found.json"))
    assert found <= set(json.loads((tmp_path / "found.json").read_bytes()))


@pytest.mark.graded
def test_the_mutants_of_an_assignment_are_counted(tmp_path: Path) -> None:
    few = ["tensorir", "--jobs", "1", "--each", "8"]
    run("diagnosis.py", *few, "--json", str(tmp_path / "found.json"))
    (row,) = json.loads((tmp_path / "found.json").read_bytes())
    assert "tensorir" == row["assignment"]


def test_the_files_that_are_named_are_migrated() -> None:
    said = run("migration.py", "--repeat", "1", str(MLP)).stdout
    assert said.count(f"{MLP.name}: ") == said.count(" ms the first time") == 1
    assert "the slowest took" in said


def test_copies_are_planted_and_found() -> None:
    found = json.loads(run("similarity.py", "--students", "24").stdout)
    assert (24, 0) == (found["students"], found["false_among_first_ten"])
    assert {"2 of 2", "1 of 1"} >= {*found["found"].values()}


def test_every_command_of_the_gradebook_has_a_row_on_both_databases(tmp_path: Path) -> None:
    few = ["--students", "2", "4", "--bars", "3", "--repeat", "1"]
    said = run("gradebook.py", *few, "--json", str(tmp_path / "found.json")).stdout
    found = json.loads((tmp_path / "found.json").read_bytes())
    commands = {(row["database"], row["command"], row["students"]) for row in found["rows"]}
    each = {(name, size) for name in ("list", "explain", "export", "regrade") for size in (2, 4)}
    each |= {("regrade", 3), ("rescore", 3)}
    databases = ("sqlite", "postgresql") if find_programs() else ("sqlite",)
    assert {(kind, *row) for kind in databases for row in each} == commands
    assert 4 * len(databases) == len(found["growth"])
    assert len(databases) == said.count("rescore of 3: ")


@pytest.mark.hurried
def test_a_score_is_measured_on_a_busy_machine(tmp_path: Path) -> None:
    few = ("--trials=1", "--only=35 us, load 1", "--json", str(tmp_path / "found.json"))
    run("timing_fidelity.py", *few)
    (row,) = json.loads((tmp_path / "found.json").read_bytes())
    assert "35 us, load 1" == row["name"]


@pytest.mark.hurried
def test_drawn_schedules_have_their_points_compared_between_loads(tmp_path: Path) -> None:
    few = ("--schedules=2", "--only=35 us, load", "--json", str(tmp_path / "found.json"))
    run("timing_fidelity.py", *few)
    found = json.loads((tmp_path / "found.json").read_bytes())
    assert (2, ["load 0", "load 2", "load 4"]) == (found["schedules"], found["loads"])


@pytest.mark.graded
def test_the_tuner_s_best_trace_is_written_where_it_should_be(tmp_path: Path) -> None:
    place = tmp_path / "found.json"
    options = ("--threads", "1", "--trials", "1", "--cost-model", "random")
    options += ("--strategy", "replay-trace")
    run("metaschedule.py", *options, "--output", str(place))
    found = json.loads(place.read_bytes())
    assert found["trace"]
    assert 1 == found["note"]["threads"]
