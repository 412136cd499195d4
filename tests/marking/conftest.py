"""A gradebook with three answers to each of two parts, on both kinds of databases."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from grader.gradebook.book import Gradebook
from tests.gradebook.conftest import book, server, url
from tests.marking.factory import make_class

__all__ = ["book", "server", "url"]


@pytest.fixture
def classbook(book: Gradebook) -> Iterator[Gradebook]:
    """A gradebook in which nothing is marked."""
    make_class(book)
    yield book
