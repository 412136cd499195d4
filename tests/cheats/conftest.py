"""The host that cheats attack, and their gradings, made once in a session."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.cheats.fixtures import Cheat, all_cheats
from tests.cheats.gradings import Gradings
from tests.cheats.host import Host


@pytest.fixture(scope="session")
def host() -> Iterator[Host]:
    with Host() as placed:
        yield placed


@pytest.fixture(scope="session")
def grade_all(host: Host, request: pytest.FixtureRequest) -> Iterator[Gradings]:
    """Begin to grade the cheats of the tests that were selected.

    Not where tests run in several processes (pytest-xdist): there each grades what it is asked.
    """
    alone = "PYTEST_XDIST_WORKER" not in os.environ
    gradings = Gradings(host, all_cheats(), _selected(request.session.items) if alone else ())
    yield gradings
    gradings.close()


def _selected(items: list[pytest.Item]) -> list[Cheat]:
    found = [
        item.callspec.params.get("cheat")
        for item in items
        if isinstance(item, pytest.Function) and hasattr(item, "callspec")
    ]
    return [cheat for cheat in found if isinstance(cheat, Cheat)]
