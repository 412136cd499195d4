"""What LibCST is given to read: nothing that could overflow its stack."""

from __future__ import annotations

import ast

import pytest

from grader.dialects.parse import (
    CHAIN_LIMIT,
    DEPTH_LIMIT,
    NODE_LIMIT,
    parse_exactly,
    statements,
)
from grader.python_cells import NotParsedError, parse


def read(source: str) -> str:
    """Return a text as LibCST has read it."""
    return parse_exactly(source, tuple(ast.parse(source).body)).code


@pytest.mark.parametrize(
    "source",
    [
        "f" + "()" * DEPTH_LIMIT,
        "a and " * CHAIN_LIMIT + "b",
        "a = " * CHAIN_LIMIT + "b",
        "[" + "a, " * NODE_LIMIT + "]",
    ],
    ids=["deep", "and", "targets", "long"],
)
def test_what_is_deep_or_long_is_refused(source: str) -> None:
    with pytest.raises(NotParsedError, match="it is nested too deeply or too long"):
        read(source)


@pytest.mark.parametrize(
    "source", ["f" + "()" * (DEPTH_LIMIT // 2), "[" + "a, " * CHAIN_LIMIT * 2 + "]", "x = 1 # a\n"]
)
def test_what_is_within_bounds_is_read(source: str) -> None:
    assert source == read(source)


@pytest.mark.parametrize("source", ["f(", "x = '\0'", "(" * 500 + ")" * 500])
def test_what_python_does_not_read_is_an_error(source: str) -> None:
    with pytest.raises(NotParsedError):
        parse(source)


def test_a_doubtful_escape_is_no_concern_of_the_graders() -> None:
    assert 1 == len(parse("'\\d'").body)


def test_statements_have_their_decorators_and_share_their_lines() -> None:
    module = parse("x = 1; y = 2\n\n@a\n@b\ndef f():\n    pass\n")
    found = [(each.first, each.last, len(each.nodes)) for each in statements(module)]
    assert [(1, 1, 2), (3, 6, 1)] == found
