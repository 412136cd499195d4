"""One kernel from its connection file to its end: what can be said without starting one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from grader.errors import GraderError
from grader.inside.launcher.protocol import Cause
from grader.kernelspec.relay import Connection, Relay
from grader.kernelspec.serve import _end, _parent, protected_folders

START = (sys.executable, "-I", "-m", "grader.cli", "kernelspec", "start", "--sandbox", "strong")


class Ended:
    """A program in a sandbox that has ended, or does not."""

    def __init__(self, status: int | None, cause: Cause = "", standard_error: str = "") -> None:
        self.status = status
        self.cause = cause
        self.standard_error = standard_error
        self.peak = 0

    def poll(self) -> int | None:
        return self.status

    def wait(self, timeout: float | None = None) -> int | None:
        return self.status

    def kill(self) -> None: ...


@pytest.fixture
def relay(tmp_path: Path) -> Relay:
    made = Relay(Connection(1, 2, 3, 4, 5, ip=str(tmp_path / "front"), transport="ipc"))
    made.close()
    return made


def start(file: Path, **environment: str) -> tuple[int, str]:
    done = subprocess.run(
        [*START, file], capture_output=True, text=True, env={**os.environ, **environment}
    )
    return done.returncode, done.stderr


def test_the_exit_code_is_the_kernels(relay: Relay) -> None:
    assert [0, 3] == [_end(Ended(0), relay), _end(Ended(3), relay)]


def test_whoever_was_asked_to_shut_down_has_done_well(relay: Relay) -> None:
    relay.was_asked = True
    assert 0 == _end(Ended(None), relay)


@pytest.mark.parametrize(
    ("ended", "said"),
    [
        (Ended(137, "memory"), "used more than 4096 MB of memory, and its kernel was stopped"),
        (Ended(137, "processes"), "more than 256 processes"),
        (Ended(137, "files"), "more than 20000 files"),
        (Ended(137, "disk"), "wrote more than 256 MB"),
        (Ended(137, "descriptors"), "files open"),
        (Ended(137, "outside"), "The machine ran out of memory"),
        (Ended(139, "", "Segmentation fault\n"), "exit status 139: Segmentation fault"),
        (Ended(None), "a message that was too long"),
    ],
    ids=lambda value: getattr(value, "cause", None),
)
def test_it_says_why_a_kernel_was_ended(relay: Relay, ended: Ended, said: str) -> None:
    with pytest.raises(GraderError, match=said):
        _end(ended, relay)


def test_what_is_the_users_is_protected_wherever_it_lies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "assignments/one").mkdir(parents=True)
    (tmp_path / "assignments/one/assignment.toml").touch()
    (tmp_path / "handed-in").mkdir()
    monkeypatch.chdir(tmp_path / "handed-in")
    monkeypatch.setenv("HOME", "/home/ada")
    found = protected_folders(tmp_path / "run/kernel-1.json", {"GRADER_DATA": "/data"})
    named = (tmp_path, tmp_path / "handed-in", tmp_path / "run", Path("/home/ada"), Path("/data"))
    assert set(named) == set(found)


@pytest.mark.parametrize("named", ["", "0", "x"])
def test_only_a_parent_that_asks_for_it_ends_its_kernels(named: str) -> None:
    """A kernel may be meant to outlive whoever has started it."""
    assert (None, os.getppid()) == (
        _parent({"JPY_PARENT_PID": named}),
        _parent({"JPY_PARENT_PID": str(os.getppid())}),
    )


def test_a_file_that_is_no_connection_file_is_told(tmp_path: Path) -> None:
    code, said = start(tmp_path / "kernel.json")
    assert 2 == code
    assert "kernel.json: No such file or directory." in said


def test_without_a_sandbox_no_kernel_is_started(tmp_path: Path) -> None:
    file = tmp_path / "kernel.json"
    ports = {f"{name}_port": 1 for name in ("shell", "iopub", "stdin", "control", "hb")}
    ports = {name: number for number, name in enumerate(ports, start=1)}
    file.write_text(json.dumps({**ports, "transport": "ipc", "ip": str(tmp_path / "k")}))
    code, said = start(file, PATH=str(tmp_path))
    assert 2 == code
    assert said.startswith('grader: There is no sandbox of the level "strong".')
