"""Faults of synchronisation are named with their statements (benchmarks/gpu_alarms.py counts)."""

import pytest

from tests.evidence.gpu.faulty import KINDS, Faulty, faulty, is_named


def test_there_are_fifty() -> None:
    assert 50 == sum(count for _, count in KINDS.values())


@pytest.mark.parametrize("each", tuple(faulty(2)), ids=lambda each: f"{each.kind}-{each.source}")
def test_two_of_each_kind_are_named(each: Faulty) -> None:
    assert is_named(each)


def test_of_fifty_all_are_named() -> None:
    missed = [(one.kind, one.source, one.mutant.line) for one in faulty() if not is_named(one)]
    assert [] == missed
