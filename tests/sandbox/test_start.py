"""Launchers: when they begin and how they end, and what they import for kernels."""

from __future__ import annotations

import errno
import os
import signal
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from grader.inside.launcher.protocol import Preload
from grader.sandbox import start
from grader.sandbox.choose import choose_sandbox
from grader.sandbox.interface import Command
from grader.sandbox.start import Launcher, SteppingSandbox, begin_kernels, begin_launcher
from tests.execute.conftest import run_cells


class TestEnd:
    def test_one_that_has_started_nothing_is_ended_in_the_middle_of_its_imports(self) -> None:
        """As for a path with a typo: nobody waits two seconds to be told of it."""
        with Launcher("student") as launcher:
            pass
        assert -signal.SIGKILL == launcher._popen.returncode

    def test_one_that_has_started_something_ends_by_itself(self) -> None:
        with Launcher("bare") as launcher, choose_sandbox("none", "none") as own:
            own.close()
            own.adopt(launcher)
            assert 0 == own.start(Command("python", ("-c", "pass"))).wait(20)
        assert 0 == launcher._popen.returncode

    def test_one_that_has_not_imported_yet_what_it_is_asked_for_is_not_waited_for(self) -> None:
        """Ctrl-C a few seconds after the start took ten more, on a busy machine."""
        with Launcher("student") as launcher:
            launcher._has_children.set()
        assert -signal.SIGTERM == launcher._popen.returncode

    def test_a_program_that_it_has_not_begun_yet_is_not_waited_for(self, tmp_path: Path) -> None:
        """Ctrl-C a few seconds after the start took ten more, on a busy machine. What it finds
        asked of it then has no place any more to run in."""
        mark = tmp_path / "mark"
        with choose_sandbox("none", "none") as own, Launcher("bare") as launcher:
            own.close()
            os.kill(launcher.pid, signal.SIGSTOP)  # it imports for as long as we like
            own.adopt(launcher)
            process = own.start(Command("python", ("-c", f"open({str(mark)!r}, 'w')")))
            before = time.monotonic()
            process.kill()
            assert time.monotonic() - before < 10
            assert 128 + signal.SIGKILL == process.poll()
            os.kill(launcher.pid, signal.SIGCONT)
            assert 0 == own.start(Command("python", ("-c", "pass"))).wait(20)
        assert not mark.exists()

    def test_it_imports_until_it_says_so(self) -> None:
        """What imports nothing may be done before it can be stopped."""
        with Launcher("student") as launcher:
            os.kill(launcher.pid, signal.SIGSTOP)
            assert launcher.is_importing()
            os.kill(launcher.pid, signal.SIGCONT)
            deadline = time.monotonic() + 60
            while launcher.is_importing():
                assert time.monotonic() < deadline
                time.sleep(0.01)
        assert not launcher.is_importing()

    def test_one_that_is_begun_while_somebody_interrupts_is_ended_first(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        begun: list[subprocess.Popen[bytes]] = []

        def begin_interrupted(number: int, preload: Preload) -> subprocess.Popen[bytes]:
            time.sleep(0.2)  # until it is waited for
            begun.append(begin_launcher(number, preload))
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.2)
            return begun[0]

        monkeypatch.setattr(start, "begin_launcher", begin_interrupted)
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            with pytest.raises(KeyboardInterrupt):
                Launcher("student")
        finally:
            signal.signal(signal.SIGINT, before)
        assert -signal.SIGKILL == begun[0].wait(20)


class InterruptedBoxes:
    """Boxes whose maker is sent Ctrl-C when one is half made."""

    level = "none"

    def __init__(self) -> None:
        self.ended: list[str] = []
        self._made = "half"

    def make(self, _command: Command) -> Any:
        time.sleep(0.2)  # until it is waited for
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.2)
        self._made = "whole"
        return self

    def end(self) -> None:
        self.ended.append(self._made)


def test_who_is_interrupted_while_a_box_is_made_ends_it_when_it_is_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of half a box of bubblewrap's a process stayed for ever."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    monkeypatch.setattr(SteppingSandbox, "_launcher", lambda *_: None)
    boxes: Any = InterruptedBoxes()
    try:
        with pytest.raises(KeyboardInterrupt):
            SteppingSandbox(boxes).start(Command("python", ("-c", "pass")))
    finally:
        signal.signal(signal.SIGINT, before)
    assert ["whole"] == boxes.ended


def test_where_none_can_be_begun_it_is_left_to_the_choice_of_a_sandbox(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A Mac has no such sockets, and is told that the sandbox needs Linux."""

    def refuse(*_: object) -> None:
        raise OSError(errno.EPROTONOSUPPORT, "Protocol not supported")

    monkeypatch.setattr(socket, "socketpair", refuse)
    with begin_kernels() as launcher:
        assert launcher is None


def test_a_launcher_that_was_begun_before_the_sandbox_starts_its_kernels() -> None:
    """And imports what the assignment's notebooks do, which is known later."""
    cell = 'import sys\nprint("torchvision" in sys.modules)'
    with (
        begin_kernels() as launcher,
        choose_sandbox(None, "none", imports=("torchvision",)) as sandbox,
    ):
        assert launcher is not None
        sandbox.adopt(launcher)
        execution = run_cells(sandbox, cell)
        assert sandbox._launchers["student"] is launcher
    assert () == execution.problems
    assert "True\n" == execution.notebook.cells[0].outputs[0].text
    assert 0 == launcher._popen.returncode
