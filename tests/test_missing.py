"""Whoever reads why a test was skipped can copy the command that brings what it misses."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from grader.machine.packages import how_to_install
from tests import missing

TESTS = Path(__file__).parent
OF_THE_TEST = {
    "tests/conftest.py",
    "tests/benchmarks/test_gpu_calibration.py",
    "tests/kernelspec/test_tools.py",
    "tests/levels/test_library.py",
    "tests/levels/test_powers.py",
    "tests/levels/test_protected.py",
    "tests/levels/test_watching.py",
    "tests/machine/test_cpus.py",
    "tests/ci/test_installed.py",
    "tests/lms/test_nbgrader.py",
    "tests/lms/test_nbgrader_itself.py",
    "tests/endtoend/batches.py",
    "tests/inside/launcher/test_linux.py",
    "tests/sandbox/test_holder.py",
    "tests/timing/test_stack.py",
    "tests/test_dependencies.py",
}
"""Files that skip for what no command brings: another level, processor, kernel or Python, a machine
that is quiet; or of root."""


@pytest.mark.parametrize(
    "part", [missing.BUBBLEWRAP, missing.CHROMIUM, missing.RUNTIME, missing.POSTGRESQL]
)
def test_what_can_be_installed_is_named_with_the_command(part: missing.Part) -> None:
    assert not part.is_here(lambda name: None)
    assert part.reason().endswith(how_to_install(part.package).english)
    assert part.is_here({part.programs[-1]: "/usr/bin/it"}.get)


def test_what_is_missing_skips_and_fails_where_changes_are_checked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    part = missing.Part("A thing", ("no-such-program",), "thing")
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match=r"A thing is missing: .*thing"):
        part.need()
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match=r"A thing is missing: .*thing"):
        part.need()


def test_who_must_be_somebody_else_is_told_the_command() -> None:
    for mark in (missing.needs_root("it is root's"), missing.needs_user("it is a user's")):
        assert re.search(r": (sudo )?\.venv/bin/python -m .*pytest", mark.kwargs["reason"])


def test_every_other_skip_for_something_missing_says_what_is_said_here() -> None:
    """`lack`, the marks and the sentences of tests/missing.py; nobody writes his own."""
    own = re.compile(r"""pytest\.skip\(\s*f?["']|skipif\(""", re.DOTALL)
    found = {
        str(path.relative_to(TESTS.parent))
        for path in TESTS.rglob("*.py")
        if own.search(path.read_text(encoding="utf-8"))
    }
    assert OF_THE_TEST | {"tests/missing.py", "tests/test_missing.py"} >= found
