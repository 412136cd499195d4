"""Texts that were written to overwhelm a parser come back as they are, and soon."""

from __future__ import annotations

import pytest

from grader.dialects.migration import TEXT_LIMIT, migrate_cells
from grader.python_cells import CELL_LIMIT

OLD = "tvm.nd.array"
DEEP = 20_000
NESTS = {
    "parentheses": "(" * DEEP + OLD + ")" * DEEP,
    "open": OLD + "(" * DEEP,
    "lists": "[" * DEEP + OLD + "]" * DEEP,
    "calls": OLD + "()" * DEEP,
    "nested calls": f"{OLD}(" * 5000 + ")" * 5000,
    "signs": "-" * DEEP + OLD,
    "nots": "not " * (DEEP // 2) + OLD,
    "sums": "1+" * DEEP + OLD,
    "attributes": OLD + ".b" * DEEP,
    "powers": "2**" * DEEP + OLD,
    "lambdas": "lambda: " * 8000 + OLD,
    "conditions": "a if b else " * 5000 + OLD,
    "strings": "'a' " * 16_000 + f"\n{OLD}",
    "conjunctions": "a and " * 10_000 + OLD,
    "targets": "a=" * DEEP + OLD,
    "indents": "".join(" " * i + "if a:\n" for i in range(300)) + " " * 300 + OLD,
    "elifs": "if a:\n pass\n" + "elif a:\n pass\n" * 4000 + OLD,
    "formats": "f'{" * DEEP + OLD,
}


@pytest.mark.parametrize("name", NESTS)
def test_what_nests_deep_or_is_long_is_left_alone(name: str) -> None:
    migration = migrate_cells([NESTS[name], "tvm.nd.array(x)"])
    assert NESTS[name] == migration.sources[0] or "elifs" == name or "strings" == name
    assert "tvm.runtime.tensor(x)" == migration.sources[1]


@pytest.mark.parametrize("name", sorted(NESTS.keys() - {"elifs", "strings"}))
def test_it_is_listed(name: str) -> None:
    (left,) = migrate_cells([NESTS[name]]).left
    assert (0, 1) == (left.cell, left.line)


def test_a_long_cell_is_left_alone_and_listed() -> None:
    source = "tvm.nd.array(x)\n" + "#" * CELL_LIMIT
    migration = migrate_cells([source])
    assert (source,) == migration.sources
    assert f"the cell is longer than {CELL_LIMIT} characters" == migration.left[0].why.english


def test_a_long_notebook_is_migrated_up_to_its_bound() -> None:
    cell = "tvm.nd.array(x)" + " " * 60_000
    count = TEXT_LIMIT // len(cell) + 2
    migration = migrate_cells([cell] * count)
    changed = [source != cell for source in migration.sources]
    assert [True] * (TEXT_LIMIT // len(cell)) == changed[: TEXT_LIMIT // len(cell)]
    assert not any(changed[TEXT_LIMIT // len(cell) :])
    assert "the notebook is too long" == migration.left[-1].why.english


@pytest.mark.parametrize("source", ["x = '\0'\ntvm.nd.array", "tvm.nd.array\rx = 1", "\ud800"])
def test_odd_characters_leave_a_cell_alone(source: str) -> None:
    assert (source,) == migrate_cells([source]).sources
