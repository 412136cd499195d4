"""The trial of a sandbox, tried on boxes that are spoilt on purpose."""

from __future__ import annotations

import os
import shutil

import pytest

from grader.errors import SandboxError
from grader.sandbox import bubblewrap
from grader.sandbox.bubblewrap import find_bubblewrap
from grader.sandbox.choose import look, try_out
from grader.sandbox.process import Boxes
from grader.sandbox.start import SteppingSandbox
from tests.missing import BUBBLEWRAP

AS_ROOT = os.geteuid() == 0


def refusal(boxes: Boxes) -> SandboxError:
    with SteppingSandbox(boxes) as sandbox, pytest.raises(SandboxError) as raised:
        try_out(sandbox)
    return raised.value


def strong() -> bubblewrap.BubblewrapBoxes:
    BUBBLEWRAP.need()
    return find_bubblewrap(shutil.which, as_root=AS_ROOT)


def test_every_process_of_a_box_is_looked_at(sandbox: SteppingSandbox) -> None:
    found = look(sandbox)
    assert [("cat", 1)] == [(each.name, each.number) for each in found.others]
    assert "python" == found.own.name
    assert not found.uses_keys


def test_a_holder_without_a_filter_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    boxes = strong()
    options = boxes._holder_options
    monkeypatch.setattr(boxes, "_holder_options", lambda add: _without_filter(options(add)))
    assert "Process 1 (cat) of a sandbox has what it must not have: all system calls" in (
        refusal(boxes).message.english
    )


def test_a_holder_without_limits_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grader.sandbox.holder._LIMITS", ("--fsize=0",))
    assert "any address space" in refusal(strong()).message.english


def test_a_holder_that_the_program_can_read_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the kernel asks: is it the same user's, and may its executable be read?"""
    monkeypatch.setattr(bubblewrap, "student_id", lambda: 70_000)
    monkeypatch.setattr(bubblewrap, "HOLDER_PERMISSIONS", 0o555)
    error = refusal(strong())
    assert "Process 1 (cat)" in error.message.english
    assert "its memory open to others" in error.message.english
    assert "fs.suid_dumpable=0" in error.hint.english


def _without_filter(options: list[str]) -> list[str]:
    at = options.index("--seccomp")
    return options[:at] + options[at + 2 :]
