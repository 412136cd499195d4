"""Some blocks of a kernel in lockstep: where each thread is, which take part, what was found."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from grader.evidence.gpu.inside.failure import NotSimulatedError
from grader.evidence.gpu.inside.shadows import SITE_MARKS, Meeting
from grader.evidence.gpu.inside.traffic import WARP, Moved
from grader.evidence.gpu.messages import FINDING_LIMIT, Access, AccessKind, Finding, FindingKind

Mask = npt.NDArray[np.bool_]
Values = Any
"""A number that all threads share, or an array: by block and thread, and lane for vectors."""

Axes = tuple[int, int, int]

MEMORIES = ("local", "shared", "global")
"""From the fastest to the slowest."""

MOST_STEPS = 4 * 10**8
"""Most statements times threads that are executed: some 10 seconds."""


class Loop(NamedTuple):
    """A loop around a statement; `node` tells two of one name apart.

    `slot` is its variable's, `low` and `extent` are None where they are not constant. `closed`: no
    barrier is in it. `stores` are the slots of the buffers that are stored in it.
    """

    node: int
    name: str
    slot: int = -1
    low: int | None = None
    extent: int | None = None
    closed: bool = False
    stores: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Statement:
    """A store, with its place in the kernel and the loops around it, from the outside."""

    number: int
    text: str
    loops: tuple[Loop, ...] = ()


@dataclass
class Site:
    """One access of one statement, and what it has moved.

    `text` is the element as it is written. `foreign` are the sites that store there by another name
    of the buffer. `kept` are loops, by slot and first value, in whose later
    rounds a compiler has it in registers; `registers` are how many that takes. `repeated` are
    bytes that a thread stored as another one had by it.
    """

    number: int
    statement: Statement
    kind: AccessKind
    buffer: str
    scope: str
    text: str
    foreign: tuple[int, ...] = ()
    kept: tuple[tuple[int, int], ...] = ()
    registers: int = 0
    moved: Moved = field(default=Moved(0, 0, 0, 0))
    repeated: int = 0

    def is_kept(self, values: list[Any]) -> bool:
        """Say whether it is in registers already, and so moves nothing."""
        return any(values[slot] != first for slot, first in self.kept)

    def add(self, moved: Moved) -> None:
        """Count what it moved once more."""
        self.moved = Moved(*(a + b for a, b in zip(self.moved, moved, strict=True)))


@dataclass
class Notes:
    """Faults so far: each fault of each pair of statements once."""

    found: dict[tuple[Any, ...], Finding] = field(default_factory=dict)
    left: int = MOST_STEPS

    def add(self, key: tuple[Any, ...], finding: Finding) -> None:
        """Take down a finding, unless it is known or there are too many."""
        if key not in self.found and len(self.found) < FINDING_LIMIT:
            self.found[key] = finding

    @property
    def spent(self) -> int:
        """Steps so far."""
        return MOST_STEPS - self.left

    def spend(self, steps: int) -> None:
        """Count steps. Raises NotSimulatedError where there were too many."""
        self.left -= steps
        if self.left < 0:
            raise NotSimulatedError("steps", str(MOST_STEPS))


@dataclass
class Launch:
    """One kernel that is being run: its grid, its sites, and its counters.

    `clock` counts statements that were executed, so that two rounds of one are told apart.
    """

    number: int
    grid: Axes
    block: Axes
    sites: list[Site]
    notes: Notes
    skipped: frozenset[int] = frozenset()
    executed: int = 0
    operations: int = 0
    issued: int = 0
    local: int = 0
    clock: int = 0
    waits: dict[str, int] = field(default_factory=lambda: dict.fromkeys(MEMORIES, 0))

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return math.prod(self.block)

    def place(self, who: int) -> tuple[Axes, Axes]:
        """Return block and thread of a thread's number."""
        block, thread = divmod(who, self.threads)
        return unravel(block, self.grid), unravel(thread, self.block)

    def mark(self, site: Site) -> int:
        """Return a number for an access now; `site_of` and `is_now` read it."""
        return self.clock * SITE_MARKS + site.number

    def site_of(self, mark: int) -> Site:
        """Return the access that a number is of."""
        return self.sites[mark % SITE_MARKS]

    def is_now(self, mark: int) -> bool:
        """Say whether a number is of the statement that is being executed."""
        return mark // SITE_MARKS == self.clock

    def access(self, site: Site, who: int) -> Access:
        """Return who touched an element by which statement."""
        block, thread = self.place(who)
        return Access(site.kind, site.statement.number, site.statement.text, block, thread)


class State:
    """A batch of blocks in lockstep, statement by statement: one of the orders that a GPU may take.

    `mask` says which threads take part, None for all.
    """

    def __init__(self, launch: Launch, blocks: npt.NDArray[np.int64], values: list[Any]) -> None:
        self.launch = launch
        self.notes = launch.notes
        self.values = values
        self.memories: dict[int, Any] = {}
        self.mask: Mask | None = None
        self.blocks = blocks
        self.shape = (len(blocks), launch.threads)
        numbers = blocks[:, None] * launch.threads + np.arange(launch.threads)
        self.who: npt.NDArray[np.int64] = numbers
        self.epoch = np.zeros((len(blocks), 1), np.int64)

    # --- who takes part ---------------------------------------------------------------------------

    def whole(self, value: Values) -> npt.NDArray[Any]:
        """Return a value for each thread, and each lane of a vector."""
        array = np.asarray(value)
        lanes = array.shape[-1:] if is_vector(array) else ()
        return np.broadcast_to(array, (*self.shape, *lanes))

    @contextmanager
    def where(self, condition: Values) -> Iterator[bool]:
        """Let only those threads take part where a condition holds; say whether there are any."""
        before = self.mask
        chosen = np.broadcast_to(condition, self.shape)
        self.mask = chosen if before is None else before & chosen
        try:
            yield bool(self.mask.any())
        finally:
            self.mask = before

    def active(self, lanes: tuple[int, ...]) -> Mask | None:
        """Return the mask in the shape of a value with these lanes."""
        if self.mask is None or not lanes:
            return self.mask
        return np.broadcast_to(self.mask[..., None], (*self.shape, *lanes))

    def count(self, operations: int, loads: list[Site], own: int) -> None:
        """Count one statement of so many operations, and of so many accesses to what threads own.

        Raises NotSimulatedError after too many.
        """
        scopes = (each.scope for each in loads if not each.is_kept(self.values))
        slowest = max(scopes, key=MEMORIES.index, default=MEMORIES[0])
        launch, (blocks, threads) = self.launch, self.shape
        warps = blocks * -(-threads // WARP)
        active, waiting = self.who.size, blocks
        if self.mask is not None:
            padded = np.zeros((blocks, -(-threads // WARP) * WARP), np.bool_)
            padded[:, :threads] = self.mask
            busy = padded.reshape(-1, WARP).any(axis=1)
            warps, active = int(busy.sum()), int(self.mask.sum())
            waiting = int(self.mask.any(axis=1).sum())
        self.notes.spend(active)
        launch.operations += operations * active
        launch.issued += operations * warps * WARP
        launch.local += own * warps
        launch.waits[slowest] += waiting

    # --- what was found ---------------------------------------------------------------------------

    def tell(self, kind: FindingKind, memory: Any, site: Site, place: tuple[int, int]) -> None:
        """Take down a fault of one access: `place` is the key and the thread's number."""
        key, who = place
        finding = Finding(
            kind,
            self.launch.number,
            memory.name,
            memory.scope,
            memory.element(key),
            (self.launch.access(site, who),),
        )
        self.notes.add((kind, self.launch.number, site.number), finding)

    def tell_other_name(self, meeting: Meeting, memory: Any, site: Site) -> None:
        """Take down that a thread loads what was stored by another name of the buffer."""
        launch = self.launch
        before = launch.site_of(meeting.mark)
        accesses = (launch.access(before, meeting.before), launch.access(site, meeting.now))
        place = (memory.name, memory.scope, memory.element(meeting.key), accesses)
        finding = Finding("other_name", launch.number, *place)
        self.notes.add(("other_name", launch.number, before.number, site.number), finding)

    def tell_race(self, meeting: Meeting, memory: Any, site: Site) -> None:
        """Take down that two threads met."""
        launch = self.launch
        before = launch.site_of(meeting.mark)
        accesses = (launch.access(before, meeting.before), launch.access(site, meeting.now))
        apart = accesses[0].block != accesses[1].block
        unordered = apart or launch.is_now(meeting.mark)
        kind: FindingKind = "block_race" if apart else "race"
        finding = Finding(
            kind,
            launch.number,
            memory.name,
            memory.scope,
            memory.element(meeting.key),
            accesses,
            "" if unordered else round_between(before.statement, site.statement),
        )
        pair = sorted((before.statement.number, site.statement.number))
        self.notes.add((kind, launch.number, memory.name, *pair), finding)


def round_between(before: Statement, now: Statement) -> str:
    """Return the loop whose next round meets this one, "" where one statement follows the other.

    Of a statement that meets itself it is the innermost loop.
    """
    if before.number < now.number:
        return ""
    common = [a for a, b in zip(before.loops, now.loops, strict=False) if a == b]
    return common[-1].name if common else ""


def is_vector(array: npt.NDArray[Any]) -> bool:
    """Say whether a value has lanes: those of a number that all threads share lie on one axis."""
    return array.ndim in (1, 3)


def unravel(number: int, extents: Axes) -> Axes:
    """Return x, y and z of a number that counts x fastest."""
    x, y, _ = extents
    return number % x, number // x % y, number // (x * y)
