"""Fifty kernels with one fault of synchronisation each, and whether it is named where it is."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

from grader.evidence.gpu.inside.audit import find_needless
from grader.evidence.gpu.inside.execution import Execution, Program
from grader.evidence.gpu.inside.kernels import tell_barrier
from grader.evidence.gpu.messages import Finding
from tests.evidence.gpu.barriers import (
    Mutant,
    aliased,
    barriers,
    divergent,
    doubled,
    lines_of,
    moved,
    parse,
    removed,
)
from tests.evidence.gpu.more_schedules import MORE
from tests.evidence.gpu.schedules import RIGHT

SOURCES = (
    "transposition by shared memory",
    "window",
    "window of ragged blocks",
    "tiled product",
    "product fetched by vectors",
    "product by ragged tiles",
    "product with ragged steps",
    "convolution",
    "tiles of virtual threads",
    "rounds overlapped",
    "tiles of ragged matrices",
    "softmax in one kernel",
    "transposition with padded rows",
    "wide window",
    "product of single elements",
)
NEEDED = {"softmax in one kernel": 1}
"""Of these kernels TVM sets barriers that nobody needs behind the first ones."""

KINDS = {
    "removed": (removed, 17),
    "moved": (moved, 10),
    "doubled": (doubled, 9),
    "divergent": (divergent, 8),
    "aliased": (aliased, 6),
}
"""Changes to barriers, and how many kernels have each."""


Text = tuple[list[str], dict[str, tuple[int, ...]]]
"""The lines of a kernel, and the shapes of its buffers."""


class Faulty(NamedTuple):
    """A kernel with a fault: the kernel that it was, what was done, and its lines before."""

    source: str
    kind: str
    mutant: Mutant
    lines: list[str]
    shapes: dict[str, tuple[int, ...]]


def faulty(each: int = 1000) -> Iterator[Faulty]:
    """Yield all, or so many of `each` kind: one of each kernel, then the next one of each."""
    texts: dict[str, Text] = {}
    for kind, (_, count) in KINDS.items():
        yield from islice(_in_turn(kind, texts), min(each, count))


def _in_turn(kind: str, texts: dict[str, Text]) -> Iterator[Faulty]:
    pending = {name: _harmful(name, kind, texts) for name in SOURCES}
    while pending:
        for name in tuple(pending):
            mutant = next(pending[name], None)
            if mutant is None:
                del pending[name]
            else:
                yield Faulty(name, kind, mutant, *texts[name])


def _harmful(name: str, kind: str, texts: dict[str, Text]) -> Iterator[Mutant]:
    """Leave out what changes nothing: a barrier that is moved past an allocation alone, and one
    that nobody needs."""
    if name not in texts:
        texts[name] = lines_of({**RIGHT, **MORE}[name]())
    lines, _ = texts[name]
    for number, each in enumerate(KINDS[kind][0](lines)):
        same = each.label == "earlier" and "alloc" in lines[each.line - 1]
        removes = kind in ("removed", "moved")
        if not same and not (removes and number >= NEEDED.get(name, number + 1)):
            yield each


def run(each: Faulty, function: Any) -> tuple[Execution, tuple[Finding, ...]]:
    """Execute the kernel or the right one; return that, and what is found, with what is waste."""
    arrays = {**RIGHT, **MORE}[each.source]().arrays()
    program, outputs = Program(function, each.shapes), [len(arrays) - 1]
    execution = program.execute(arrays, outputs)
    needless = find_needless(program, execution, arrays, outputs)
    return execution, (*execution.findings, *needless)


def is_named(each: Faulty) -> bool:
    """Say whether what is found first is the fault that was made, with its statements."""
    _, found = run(each, each.mutant.function)
    if not found:
        return False
    if each.kind == "aliased":
        return _has_both(found[0], each)
    right, _ = run(each, parse(each.lines))
    kernel, _ = right.launches[0]
    following = kernel.barriers[barriers(each.lines).index(each.mutant.line)]
    if each.kind in ("removed", "moved"):
        return _is_across(found[0], following)
    kinds = {"doubled": "needless_barrier", "divergent": "divergent_barrier"}
    expected = tell_barrier(kinds[each.kind], 0, kernel.sites, following)
    return found[0] == expected and (each.kind == "divergent" or len(found) == 1)


def _has_both(finding: Finding, each: Faulty) -> bool:
    """Say whether statements of both buffers are named that lie in one memory."""
    shared = [
        line.split()[0] for line in each.lines[: each.mutant.line + 1] if "alloc_shared" in line
    ]
    texts = " ".join(access.text for access in finding.accesses)
    return finding.kind in ("race", "other_name") and all(name in texts for name in shared[-2:])


def _is_across(finding: Finding, following: int) -> bool:
    """Say whether a race is between a statement before the barrier and one behind it, in a loop
    between one behind it and one before it in the next round."""
    if finding.kind != "race":
        return False
    low, high = sorted(access.statement for access in finding.accesses)
    return (low < following <= high) != bool(finding.loop)
