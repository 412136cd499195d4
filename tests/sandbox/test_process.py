"""Waiting for a sandboxed command and ending it."""

from __future__ import annotations

import os
import signal
import time

import pytest

from grader.sandbox.interface import Command, Sandbox
from grader.sandbox.start import SteppingSandbox
from tests.sandbox.inside import command_lines, some_seconds

SLEEP = "import time; time.sleep(60)"


class TestWait:
    @pytest.mark.parametrize(
        ("code", "status"),
        [
            ("pass", 0),
            ("raise SystemExit(7)", 7),
            ("import os; os.kill(os.getpid(), 9)", 137),
            ("import ctypes; ctypes.string_at(0)", 139),
        ],
    )
    def test_it_returns_the_exit_status(self, sandbox: Sandbox, code: str, status: int) -> None:
        process = sandbox.start(Command("python", ("-c", code)))
        assert process.wait(20) == status
        assert process.poll() == status

    def test_it_returns_none_while_the_command_runs(self, sandbox: Sandbox) -> None:
        process = sandbox.start(Command("python", ("-c", SLEEP)))
        assert process.wait(0.05) is None
        assert process.poll() is None
        process.kill()

    def test_processes_that_the_command_leaves_behind_end_with_it(self, sandbox: Sandbox) -> None:
        marker = some_seconds()
        code = f"""
import subprocess, time
subprocess.Popen(["setsid", "sleep", {marker!r}])
time.sleep(0.2)
"""
        process = sandbox.start(Command("python", ("-c", code)))
        assert process.wait(20) == 0
        assert not any(marker in line for line in command_lines())


class TestKill:
    def test_a_box_whose_bubblewrap_was_killed_ends_like_any_other(
        self, sandbox: SteppingSandbox
    ) -> None:
        """The machine may end any process when it has no memory left. For a user that ends all;
        root's holder is not bubblewrap's to end, and goes on until the grader ends it."""
        marker = some_seconds()
        code = f"import os; os.execvp('sleep', ['sleep', {marker!r}])"
        process = sandbox.start(Command("python", ("-c", code)))
        while not any(f"sleep {marker}" in line for line in command_lines()):
            time.sleep(0.05)
        os.kill(process._box._popen.pid, signal.SIGKILL)
        process.kill()
        assert process.poll() == 137
        assert not any(f"sleep {marker}" in line for line in command_lines())

    def test_nothing_is_left_when_it_returns(self, sandbox: Sandbox) -> None:
        marker = some_seconds()
        code = f"""
import subprocess, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
for _ in range(20):
    subprocess.Popen(["setsid", "sleep", {marker!r}])
time.sleep(60)
"""
        process = sandbox.start(Command("python", ("-c", code)))
        deadline = time.monotonic() + 20
        while sum(f"sleep {marker}" in line for line in command_lines()) < 20:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        process.kill()
        assert not any(marker in line for line in command_lines())
        assert process.poll() == 137

    def test_it_is_harmless_after_the_end(self, sandbox: Sandbox) -> None:
        process = sandbox.start(Command("python", ("-c", "pass")))
        process.wait(20)
        process.kill()
        process.kill()
        assert process.poll() == 0


class TestStandardError:
    def test_it_has_what_was_written_last(self, sandbox: Sandbox) -> None:
        code = "import sys; sys.stderr.write('x' * 1_000_000 + 'the end')"
        process = sandbox.start(Command("python", ("-c", code)))
        assert process.wait(20) == 0
        assert process.standard_error.endswith("xxx" + "the end")
        assert len(process.standard_error) < 10_000
