"""Which captures of a part are looked at, and in which order."""

from __future__ import annotations

import pytest

from grader.assignment import PartTable
from grader.messages import PYTHON_FUNCTION, Capture
from grader.referee.candidates import (
    CANDIDATE_LIMIT,
    PYTHON_LIMIT,
    candidate_limit,
    in_order,
    inspect,
    is_meant,
)
from grader.referee.evidence import Candidate, Problem


def part(kind: str = "module", *, only_named: bool = False) -> PartTable:
    return PartTable(
        id="p", title="A part", entry_kind=kind, entry=("f",), check=(), only_named=only_named
    )


def capture(cell: int, *, by_name: bool = True, trace: bytes | None = None) -> Capture:
    return Capture("p", "f", cell, by_name, b"{}", trace=trace)


def test_what_bears_the_name_comes_first_and_the_latest_of_it() -> None:
    found = [capture(1), capture(2, by_name=False), capture(3), capture(4, by_name=False)]
    assert [3, 1, 4, 2] == [each.cell for each in in_order(found)]


@pytest.mark.parametrize(("kind", "limit"), [("module", CANDIDATE_LIMIT), ("python", PYTHON_LIMIT)])
def test_so_many_are_run_at_most(kind: str, limit: int) -> None:
    assert limit == candidate_limit(part(kind))


def test_another_name_is_no_answer_where_only_named_ones_are_unless_it_was_scheduled() -> None:
    other = capture(1, by_name=False)
    assert is_meant(part(), other)
    assert not is_meant(part(only_named=True), other)
    assert is_meant(part(only_named=True), capture(1, by_name=False, trace=b"[]"))
    assert is_meant(part(only_named=True), capture(1))


def test_a_python_function_comes_alone_and_without_a_module() -> None:
    python = Capture("p", "f", 1, True, b"", externs={PYTHON_FUNCTION: b"x"})
    assert isinstance(inspect(part("python"), python), Candidate)
    for forged in (
        Capture("p", "f", 1, True, b"{}", externs={PYTHON_FUNCTION: b"x"}),
        Capture("p", "f", 1, True, b"", externs={PYTHON_FUNCTION: b"x", "env.f": b"x"}),
        Capture("p", "f", 1, True, b""),
    ):
        assert isinstance(inspect(part("python"), forged), Problem)
    assert isinstance(inspect(part("module"), python), Problem)
