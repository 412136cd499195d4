"""`grader migrate`: what it prints and writes, and its exit code."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from grader.cli.migrate import run_migrate
from grader.errors import UsageError

COMMAND = [sys.executable, "-c", "from grader.cli.app import main; main()", "migrate"]
ROOT = Path(__file__).parents[2]
OLD = "import tvm\nx = tvm.nd.array(y)\n"
NEW = "import tvm\nx = tvm.runtime.tensor(y)\n"
GONE = "import tvm\ntvm.lower(f)\n"


def migrate(path: Path, new: Path | None = None, *, diff: bool = False) -> tuple[bool, str, str]:
    """Return whether all was migrated, and what was printed on both streams."""
    output, messages = io.StringIO(), io.StringIO()
    consoles = [Console(file=file, width=100) for file in (output, messages)]
    done = run_migrate(path, new, *consoles, diff=diff)
    return done, output.getvalue(), messages.getvalue()


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "old.py"
    path.write_text(OLD)
    return path


def test_changes_are_printed_and_nothing_is_written(script: Path) -> None:
    done, output, _ = migrate(script)
    assert done
    assert "│ tvm.nd.array │ tvm.runtime.tensor │ line 2 │" in output
    assert "old.py: dialect 2023-24; 1 change, nothing left as it was.\n" in output
    assert OLD == script.read_text()


def test_a_new_file_is_written_and_the_old_one_stays(script: Path, tmp_path: Path) -> None:
    _, output, _ = migrate(script, tmp_path / "new.py")
    assert (OLD, NEW) == (script.read_text(), (tmp_path / "new.py").read_text())
    assert "Written:" in output
    assert ["new.py", "old.py"] == sorted(path.name for path in tmp_path.iterdir())


def test_the_differences_can_be_applied_by_patch(script: Path) -> None:
    _, output, messages = migrate(script, diff=True)
    expected = (
        "--- old.py\n+++ old.py\n@@ -2 +2 @@\n-x = tvm.nd.array(y)\n+x = tvm.runtime.tensor(y)\n"
    )
    assert expected == output
    assert "1 change" in messages


def test_what_is_left_is_printed_with_its_reason(script: Path) -> None:
    script.write_text(GONE)
    done, output, _ = migrate(script)
    assert not done
    assert "tvm.lower" in output
    assert "its function has been removed" in output


def test_text_in_todays_spelling_is_said_to_be_so(script: Path) -> None:
    script.write_text(NEW)
    assert "old.py: nothing to change; its dialect is 2026.\n" == migrate(script)[1]


def test_text_cannot_steer_the_terminal(script: Path) -> None:
    script.write_text("x = tvm.nd.array('\x1b[2J')\n")
    assert "\x1b" not in migrate(script, diff=True)[1]


def test_a_folder_that_does_not_exist_is_an_error(script: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="Cannot write"):
        migrate(script, tmp_path / "none" / "new.py")


@pytest.mark.parametrize(
    ("text", "name", "code"),
    [(OLD, "a.py", 0), (NEW, "a.md", 0), (GONE, "a.py", 1), ("{", "a.ipynb", 2), ("", "a.zip", 2)],
)
def test_the_exit_code_says_how_it_went(tmp_path: Path, text: str, name: str, code: int) -> None:
    path = tmp_path / name
    path.write_text(text)
    result = subprocess.run(
        [*COMMAND, str(path)], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert code == result.returncode, result.stderr


def test_a_file_that_does_not_exist_is_exit_code_2(tmp_path: Path) -> None:
    result = subprocess.run([*COMMAND, str(tmp_path / "x.py")], capture_output=True, cwd=ROOT)
    assert 2 == result.returncode
