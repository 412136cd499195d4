"""A new assignment, and what a preview has of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.authoring.skeleton import make_assignment
from grader.evidence import registry
from grader.grading.preparation import Settings
from grader.preview import PreviewSession
from grader.sandbox.interface import Sandbox


@pytest.fixture(autouse=True)
def own_kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kinds of checks that a course brings along are gone after the test."""
    monkeypatch.setattr(registry, "_KINDS", dict(registry._KINDS))


@pytest.fixture
def course(tmp_path: Path) -> Path:
    """A course of one assignment, called layer."""
    make_assignment(tmp_path, "layer", ["en", "zh"])
    return tmp_path


@pytest.fixture
def session(course: Path, sandbox: Sandbox) -> Iterator[PreviewSession]:
    found = PreviewSession(course, "layer", Settings(sandbox, seed=7), is_timed=False)
    yield found
    found.close()
    found.join()
