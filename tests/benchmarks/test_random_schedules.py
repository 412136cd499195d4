"""No honest schedule is refused."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
COUNT = 6
SHARE = 0.95


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("random_schedules")


def test_all_legal_schedules_may_be_timed(benchmark: ModuleType) -> None:
    found = [benchmark.examine(name, COUNT, 1) for name in benchmark.COMPUTATIONS]
    assert [0] * len(found) == [each["refused"] for each in found]
    legal = sum(each["schedules"] - each["broken"] for each in found)
    assert legal >= SHARE * COUNT * len(found)
