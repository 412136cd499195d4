"""Gradebooks for tests: each test runs on a file of SQLite and on a server of PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.gradebook.book import Gradebook
from grader.gradebook.database import open_database
from tests.gradebook.postgres import new_database, running_server


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """The URL of a server's first database."""
    with running_server() as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a place where there is no gradebook yet."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'gradebook.sqlite'}"
    return new_database(request.getfixturevalue("server"))


@pytest.fixture
def book(url: str) -> Iterator[Gradebook]:
    """A gradebook that has only been made."""
    found = Gradebook(open_database(url, make=True))
    yield found
    found.close()
