"""Loops whose iterations overlap: one writes an element that another one writes or reads.

Beyond `POINTS` iterations, only the first and the last ones of the longest loops are recorded;
symbolic extents are `SYMBOLIC`. A module decides neither how much memory that takes nor how long:
300 stores took 6 GB and 87 s.

A buffer whose accesses all lie in one loop is that loop's own: TVM allocates it there. It does not
where the loop is an axis of a sum in one of the blocks.
"""

from collections import defaultdict
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from grader.ir.accesses import (
    KINDS,
    Access,
    Accesses,
    Iterations,
    Loop,
    Numbers,
    UnknownError,
    find_in_each,
)
from grader.ir.facts import Finding
from grader.ir.graph import Graph
from grader.ir.vocabulary import shown
from grader.language import say

POINTS = 2**18
"""Most iterations that an access is recorded for."""

FEWEST_POINTS = 2**8
"""Iterations that an access is recorded for, however many others there are of its buffer."""

TOGETHER = 2**22
"""Most iterations that all accesses of a buffer in a loop are recorded for: 32 MB a column."""

WORK = 2**25
"""Most recorded indices of one module; loops that come later are not looked at."""

SYMBOLIC = 6
"""What stands for an extent that the caller decides."""

_OVERLAPS = {
    (False, True): say("in-function-iterations-loop-overlap-writes"),
    (False, False): say("in-function-iterations-loop-overlap-writes-elements"),
    (True, True): say("in-function-iterations-loop-write-same"),
    (True, False): say("in-function-iterations-loop-read-what-others-write"),
}
"""The sentence for iterations that overlap. The first of the keys says whether one statement makes
both accesses: a statement mostly has the name of its buffer. The second says whether both store."""


class _Record(NamedTuple):
    """Where an access is made: arrays that are broadcast to the shape of the `mask`, and count
    where that holds. `place` has one for each outer loop, and then one for each index; `round` is
    the iteration of the loop that is looked at. An index that depends on contents is None."""

    place: tuple[Numbers | None, ...]
    round: Numbers
    mask: npt.NDArray[np.bool_]

    def kept(self, column: Numbers) -> Numbers:
        """Return a column where the mask holds, in a row."""
        return np.broadcast_to(column, self.mask.shape)[self.mask]


def find_races(graph: Graph, functions: dict[str, int]) -> tuple[Finding, ...]:
    """Return a finding for the first race of each function."""
    loops = (node for node, kind in enumerate(graph.types) if kind == "tirx.For")
    if not any(graph.field(node, "kind") in KINDS for node in loops):
        return ()
    return find_in_each(graph, functions, WORK, lambda *one: islice(_Function(*one).races(), 1))


class _Function:
    def __init__(self, name: str, accesses: Accesses) -> None:
        self.name = name
        self.accesses = accesses

    def races(self) -> Iterator[Finding]:
        """Yield the races of loops, from the outside. Raises IRError where the budget is spent."""
        loops = (loop for access in self.accesses.all for loop in access.loops if loop.kind)
        for loop in dict.fromkeys(loops):
            finding = self._race_of(loop)
            if finding is not None:
                yield finding

    def _race_of(self, loop: Loop) -> Finding | None:
        """Return a finding where two iterations of a loop meet."""
        within = [each for each in self.accesses.all if loop in each.loops]
        of_buffer: dict[int, list[Access]] = defaultdict(list)
        for each in within:
            of_buffer[each.buffer].append(each)
        for buffer, accesses in of_buffer.items():
            if not any(each.stores for each in accesses) or self._is_own(buffer, loop):
                continue
            pair = self._meeting(loop, accesses)
            if pair is not None:
                return self._finding(loop, buffer, pair)
        return None

    def _is_own(self, buffer: int, loop: Loop) -> bool:
        """Say whether every iteration of a loop has its own buffer."""
        if loop in self.accesses.inside.get(buffer, ()):
            return True
        accesses = self.accesses.of_buffer[buffer]
        return (
            buffer in self.accesses.movable
            and all(loop in each.loops for each in accesses)
            and not any(loop.variable in self.accesses.uses([*each.sums]) for each in accesses)
        )

    def _meeting(self, loop: Loop, accesses: list[Access]) -> tuple[Access, Access] | None:
        """Return two accesses, the first of them a store, that meet in two iterations of a loop."""
        outer = dict.fromkeys(
            each
            for access in accesses
            for each in self.accesses.loops_of(access)
            if each in access.loops[: access.loops.index(loop)]
        )
        stores = [each for each in accesses if each.stores]
        ordered = [*stores, *(each for each in accesses if not each.stores)]
        points = min(POINTS, max(FEWEST_POINTS, TOGETHER // len(ordered)))
        records = []
        for access in ordered:
            record = self._record(access, loop, [*outer], points)
            if record is None and loop.kind == "parallel":
                return stores[0], access
            if record is not None and record.mask.any():
                records.append((access, record))
        return _meet(records) if records else None

    def _record(self, access: Access, loop: Loop, outer: list[Loop], points: int) -> _Record | None:
        """Return where an access is made; None where that depends on more than loops."""
        loops = self.accesses.loops_of(access, loop, *outer)
        points //= self.accesses.lanes(access)
        try:
            iterations = Iterations(self.accesses, loops, points, looked_at=loop, symbolic=SYMBOLIC)
            *place, rounds = (iterations.value(each.variable) for each in (*outer, loop))
            indices = [_known(iterations, each) for each in access.indices]
            for part in access.starts:
                indices = _shifted_by([_known(iterations, each) for each in part], indices)
            known = [each for each in indices if each is not None]
            mask = iterations.mask(access.conditions, known)
        except (UnknownError, ValueError):  # vectors of different lengths
            return None
        if loop.kind != "parallel" and len(known) < len(indices):  # lanes are not at once
            return None
        self.accesses.budget.spend(2 * mask.size)
        return _Record((*place, *indices), rounds, mask)

    def _finding(self, loop: Loop, buffer: int, pair: tuple[Access, Access]) -> Finding:
        graph = self.accesses.graph
        one, other = pair
        told = {
            "name": shown(self.name),
            "kind": loop.kind,
            "loop": shown(graph.name(loop.variable)),
            "buffer": shown(graph.name(buffer)),
        }
        if one.statement != other.statement:
            told |= {"one": shown(one.statement), "other": shown(other.statement)}
        message = say(_OVERLAPS[one.statement == other.statement, other.stores], **told)
        return Finding("race", graph.name(buffer), self.name, message)


def _known(iterations: Iterations, index: int) -> Numbers | None:
    """Return an index in all iterations, None where it depends on more than loops."""
    try:
        known: Numbers = iterations.value(index)
    except UnknownError:
        return None
    return known


def _shifted_by(
    starts: list[Numbers | None], indices: list[Numbers | None]
) -> list[Numbers | None]:
    """Return the indices of a part of a buffer as those of the buffer, which may have more."""
    skipped = len(starts) - len(indices)
    if skipped < 0:
        raise UnknownError
    inner = [
        None if a is None or b is None else a + b
        for a, b in zip(starts[skipped:], indices, strict=True)
    ]
    return [*starts[:skipped], *inner]


def _meet(records: list[tuple[Access, _Record]]) -> tuple[Access, Access] | None:
    """Return two accesses, the first of them a store, that meet in two iterations.

    Stores come before loads in the `records`.
    """
    key = _elements([record for _, record in records])
    rounds = np.concatenate([record.kept(record.round) for _, record in records])
    count = [int(np.count_nonzero(record.mask)) for _, record in records]
    written = sum(total for (access, _), total in zip(records, count, strict=True) if access.stores)
    size = key.max(initial=-1) + 1
    low, high = np.full(size, 2**62), np.full(size, -(2**62))
    np.minimum.at(low, key[:written], rounds[:written])
    np.maximum.at(high, key[:written], rounds[:written])
    met = (low[key] <= high[key]) & ((low[key] != rounds) | (high[key] != rounds))
    if not met.any():
        return None
    place = int(np.argmax(met))
    owner = int(np.argmax((key == key[place]) & (rounds != rounds[place])))
    ends = np.cumsum(count)
    one, other = (records[int(np.searchsorted(ends, each, "right"))][0] for each in (owner, place))
    return (one, other) if one.stores else (other, one)


def _elements(records: list[_Record]) -> Numbers:
    """Return a small number for every element that is touched, for all records in a row."""
    keys = [np.zeros(np.count_nonzero(record.mask), np.int64) for record in records]
    known = 1
    for places in zip(*(record.place for record in records), strict=True):
        # Of `B[i, rows[j]]`, two iterations may meet wherever `i` is the same.
        columns = [each for each in places if each is not None]
        if len(columns) < len(places):
            continue
        # Before they are broadcast, columns are short.
        different = np.unique(np.concatenate([each.reshape(-1) for each in columns]))
        if known * len(different) >= 2**62:
            keys, known = _numbered(keys)
        known *= max(len(different), 1)
        for key, record, column in zip(keys, records, columns, strict=True):
            key *= len(different)
            key += record.kept(np.searchsorted(different, column))
    return np.concatenate(_numbered(keys)[0] if known > 4 * sum(map(len, keys)) else keys)


def _numbered(keys: list[Numbers]) -> tuple[list[Numbers], int]:
    """Return keys as the numbers of those that there are, and how many these are."""
    different, numbers = np.unique(np.concatenate(keys), return_inverse=True)
    ends = np.cumsum([len(each) for each in keys])[:-1]
    return np.split(numbers.reshape(-1), ends), len(different)
