"""One sandbox for all tests of this folder."""

from __future__ import annotations

import pytest

from grader.sandbox.choose import choose_sandbox
from grader.sandbox.interface import Sandbox


@pytest.fixture(scope="session")
def sandbox() -> Sandbox:
    """The sandbox that this machine offers."""
    return choose_sandbox()
