"""What the processors at hand can do at most."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class Limits(NamedTuple):
    """Floating-point operations and bytes per second."""

    flops: float
    bytes: float


def measure_limits(target: Any, threads: int, clock: Callable[[], float]) -> Limits:
    """Placeholder until the micro-benchmarks are there."""
    del target, clock
    return Limits(1e15 * threads, 1e15)
