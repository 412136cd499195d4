"""The nightly searches: all run, what they say is kept, and one that finds something fails."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from nightly import BENCHMARKS, SEARCHES, Search, run, run_search

SEED = 20261129

PROGRAM = """\
import json, sys
from pathlib import Path
print("drawn:", *sys.argv[1:-2])
print("told", file=sys.stderr)
Path(sys.argv[-1]).write_text(json.dumps(sys.argv[1:-2]))
sys.exit({code})
"""


def search(folder: Path, name: str, code: int) -> Search:
    """Return a search that ends with an exit code."""
    program = folder / f"{name}.py"
    program.write_text(PROGRAM.format(code=code))
    return Search(name, str(program), ("--seed", "{seed}"))


def test_all_run_and_one_that_found_something_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    searches = [search(tmp_path, "first", 1), search(tmp_path, "second", 0)]
    assert 1 == run(searches, tmp_path / "night", SEED)
    said = capsys.readouterr().out
    assert "exit code 1" in said
    assert "nothing found" in said
    for each in ("first", "second"):
        found = json.loads((tmp_path / "night" / f"{each}.json").read_text())
        assert ["--seed", str(SEED)] == found
        text = (tmp_path / "night" / f"{each}.txt").read_text()
        assert {f"drawn: --seed {SEED}", "told"} == set(text.splitlines())


def test_a_night_that_finds_nothing_passes(tmp_path: Path) -> None:
    assert 0 == run([search(tmp_path, "only", 0)], tmp_path / "night", SEED)


def test_one_that_hangs_is_ended(tmp_path: Path) -> None:
    program = tmp_path / "hangs.py"
    program.write_text("import time\ntime.sleep(600)\n")
    assert "not done after 1 s" == run_search(Search("h", str(program)), tmp_path, SEED, seconds=1)


def test_guards_are_held_to_two_thousand_programs_that_change_each_night() -> None:
    (guards,) = (each for each in SEARCHES if each.program == "guarded_programs.py")
    assert ("--count", "2000", "--seed", "{seed}") == guards.arguments
    assert all((BENCHMARKS / each.program).is_file() for each in SEARCHES)
