"""A notebook that was ended for what others took is no finding about it."""

from __future__ import annotations

from typing import Any

import pytest

from grader.assignment import Limits
from grader.errors import DisplacedError
from grader.inside.launcher.protocol import Cause
from grader.sandbox.interface import Command, Process, Sandbox
from grader.sandbox.room import CrowdedSandbox
from tests.execute.conftest import run_cells

KILLED = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"


class Claiming:
    """A sandbox that gives a cause of its own for everybody's end."""

    def __init__(self, sandbox: Sandbox, cause: Cause) -> None:
        self._sandbox = sandbox
        self._cause = cause

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sandbox, name)

    def start(self, command: Command) -> Process:
        process: Any = self._sandbox.start(command)
        claimed = type("Claimed", (type(process),), {"cause": self._cause})
        process.__class__ = claimed
        return process  # type: ignore[no-any-return]


@pytest.mark.parametrize("cause", ["machine", "outside"])
def test_beside_others_it_has_to_be_run_again(sandbox: Sandbox, cause: Cause) -> None:
    with pytest.raises(DisplacedError):
        run_cells(CrowdedSandbox(Claiming(sandbox, cause)), KILLED, "1")


def test_so_has_one_that_hardly_got_a_processor_before_its_time_was_over(sandbox: Sandbox) -> None:
    crowded = CrowdedSandbox(Claiming(sandbox, "starved"))
    with pytest.raises(DisplacedError):
        run_cells(crowded, "while True: pass", limits=Limits(cell_seconds=1))


def test_alone_it_is_told_what_it_took(sandbox: Sandbox) -> None:
    (note,) = run_cells(Claiming(sandbox, "machine"), KILLED, "1").notes
    assert "Code cell 1 took nearly all the memory that the machine had left" in note.english


def test_alone_its_time_is_over(sandbox: Sandbox) -> None:
    claiming = Claiming(sandbox, "starved")
    (note,) = run_cells(claiming, "while True: pass", limits=Limits(cell_seconds=1)).notes
    assert "Code cell 1 ran longer than 1 seconds" in note.english


def test_who_prints_too_much_is_told_so_whatever_the_machine_did(sandbox: Sandbox) -> None:
    crowded = CrowdedSandbox(Claiming(sandbox, "starved"))
    limits = Limits(cell_seconds=60, output_mb=0.1)
    (note,) = run_cells(crowded, "while True: print('x' * 10_000)", limits=limits).notes
    assert "printed too much" in note.english


def test_what_its_kernel_held_at_most_is_known(sandbox: Sandbox) -> None:
    cell = "import time; kept = bytearray(b'x') * (300 * 2**20); time.sleep(1)"
    assert 300 * 2**20 <= run_cells(sandbox, cell).peak
