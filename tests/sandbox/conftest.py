"""The strongest level, for tests of what it alone promises."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from grader.sandbox.choose import choose_sandbox
from grader.sandbox.start import SteppingSandbox
from tests.users import need_boxes


@pytest.fixture(scope="session")
def sandbox() -> Iterator[SteppingSandbox]:
    """A sandbox of the level "strong"."""
    need_boxes()
    with choose_sandbox("strong") as chosen:
        yield chosen
