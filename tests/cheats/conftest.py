"""The host that cheats attack, and their gradings, made once in a session."""

from __future__ import annotations

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
def grade_all(host: Host, request: pytest.FixtureRequest) -> Gradings:
    """The gradings of the cheats of the tests that were selected."""
    return Gradings(host, all_cheats(), _selected(request.session.items))


def _selected(items: list[pytest.Item]) -> list[Cheat]:
    found = [
        item.callspec.params.get("cheat")
        for item in items
        if isinstance(item, pytest.Function) and hasattr(item, "callspec")
    ]
    return [cheat for cheat in found if isinstance(cheat, Cheat)]
