"""A Canvas and a Moodle of this machine, and a graded class in a course of its own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.gradebook.small_class import Class
from tests.lms.sync.lti_server import PEM, Lti
from tests.lms.sync.servers import TOKEN, Canvas, Moodle, running


@pytest.fixture
def canvas() -> Iterator[Canvas]:
    with running(site := Canvas()):
        yield site


@pytest.fixture
def moodle() -> Iterator[Moodle]:
    with running(site := Moodle()):
        yield site


@pytest.fixture(autouse=True)
def _token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANVAS_TOKEN", TOKEN)
    monkeypatch.setenv("MOODLE_TOKEN", TOKEN)


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Class]:
    found = Class(tmp_path)
    yield found
    found.book.close()


def notebook(word: str) -> bytes:
    """Return a notebook with a word in it."""
    cell = {"cell_type": "markdown", "metadata": {}, "source": word}
    return json.dumps(
        {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    ).encode()


@pytest.fixture
def lti(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lti]:
    """A system that knows the key of the environment, and a course with the registration."""
    monkeypatch.setenv("LTI_KEY", PEM.decode())
    with running(site := Lti()):
        site.write_settings(tmp_path)
        yield site
