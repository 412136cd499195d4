"""What was measured is kept, so that an interrupted benchmark goes on."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"

MEASURE = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from journal import Journal

def measure(value):
    print("measured", value)
    return value

journal = Journal(Path(sys.argv[2]), sys.argv[3])
for number in range(int(sys.argv[4])):
    assert number / 3 == journal.once(float, lambda: measure(number / 3))
"""


def measured(path: Path, count: int, settings: str = "3 trials") -> subprocess.CompletedProcess:
    words = [sys.executable, "-c", MEASURE, BENCHMARKS, path, settings, str(count)]
    return subprocess.run(words, capture_output=True, text=True)


class TestJournal:
    def test_what_is_known_is_not_measured_again(self, tmp_path: Path) -> None:
        assert 2 == measured(tmp_path / "journal", 2).stdout.count("measured")
        assert f"measured {2 / 3}\n" == measured(tmp_path / "journal", 3).stdout

    def test_what_was_being_written_is_measured_again(self, tmp_path: Path) -> None:
        path = tmp_path / "journal"
        measured(path, 2)
        path.write_bytes(path.read_bytes()[:-3])
        assert f"measured {1 / 3}\n" == measured(path, 2).stdout
        assert "" == measured(path, 2).stdout

    def test_with_other_arguments_it_does_not_go_on(self, tmp_path: Path) -> None:
        measured(tmp_path / "journal", 1)
        other = measured(tmp_path / "journal", 1, "4 trials")
        assert 1 == other.returncode
        assert "was begun with other arguments" in other.stderr
