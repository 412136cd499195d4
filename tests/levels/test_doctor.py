"""What `grader doctor` tries before it says that a machine can grade, at each level."""

from __future__ import annotations

from grader.cli.doctor_trial import try_cells
from grader.progress import Silent
from grader.sandbox.interface import Sandbox


def test_a_machine_that_can_grade_fails_no_trial(sandbox: Sandbox) -> None:
    assert [] == list(try_cells(sandbox, Silent()))
