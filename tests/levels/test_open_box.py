"""tools/open_box.py: a box of every kind, with a shell beside what usually runs there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from grader.sandbox.interface import WITH_NAMESPACES
from grader.sandbox.start import SteppingSandbox

TOOL = Path(__file__).resolve().parents[2] / "tools" / "open_box.py"
TELL = """
while read name value; do
    [ $name = Seccomp: ] && echo filter $value
done < /proc/$$/status
round=0
while case "$(cat /proc/[0-9]*/comm 2>/dev/null)" in *warden*) [ $round -lt 100 ];; *) false;; esac
do
    round=$((round + 1))
    sleep 0.1
done
# without namespaces these are names of all processes: one may hold the end of a line
names=$(cat /proc/[0-9]*/comm 2>/dev/null)
echo names $names | tr -c 'a-z \\n-' '?'
for each in /proc/1 /proc/$PPID; do
    (: <> $each/mem) 2>/dev/null && echo opened $each
done
exit 7
"""


@pytest.mark.parametrize("kind", ["kernel", "runner", "evaluator", "library", "mutants"])
def test_the_shell_has_the_powers_of_a_submission(kind: str, sandbox: SteppingSandbox) -> None:
    done = subprocess.run(
        [sys.executable, TOOL, kind, "--level", sandbox.level, "--command", TELL],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert 7 == done.returncode, done.stderr
    filtered, names, *opened = done.stdout.splitlines()
    assert filtered == f"filter {0 if sandbox.level == 'none' else 2}"
    if sandbox.level in WITH_NAMESPACES:  # the holder, the program, the shell and what it starts
        assert {"cat", f"grader-{kind}"[:15], "sh"} == set(names.split()[1:])
    if sandbox.level != "none":
        assert [] == opened
