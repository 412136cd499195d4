"""How long a kernel would take, by a model: whole cycles, the same on every machine.

Of a kernel's blocks, as many run on one processor at a time as fit there. They take as long as the
slowest of four things: sectors from global memory, passes over the banks of shared memory,
floating-point operations (with idle threads of a warp), and the waits of one block's statements,
which other blocks on the processor hide. No cache is modelled: a sector that is asked for twice is
moved twice. Local memory beyond the registers of a thread is global memory. What that leaves out
only a GPU can tell (docs/gpu.md).

A speed is points linear in the logarithm between two anchors, as a measured one is.
"""

from __future__ import annotations

import math
from typing import Literal

import msgspec

from grader.evidence.gpu.devices import WARP, Device, resident_blocks
from grader.evidence.gpu.messages import KernelCounts, Traffic

SECTOR_BYTES, WORD_BYTES = 32, 4
WAIT_REGISTERS, WAIT_SHARED, WAIT_GLOBAL = 4, 24, 400
"""Cycles until a statement has what it reads, without a cache: rounded figures of
microbenchmarks. A barrier costs as much as a load from shared memory."""

Bottleneck = Literal["global", "shared", "operations", "waits"]


class KernelCost(msgspec.Struct, frozen=True):
    """Cycles of one processor for all blocks of a kernel, by cause; `cycles` are those it takes.

    `resident` blocks run at a time; `occupancy` is the percentage of threads that they are of those
    that a processor holds.
    """

    global_cycles: int
    shared_cycles: int
    operation_cycles: int
    wait_cycles: int
    resident: int
    occupancy: int

    @property
    def cycles(self) -> int:
        """Cycles of the slowest cause."""
        return max(self.causes.values())

    @property
    def causes(self) -> dict[Bottleneck, int]:
        """Cycles by cause."""
        return {
            "global": self.global_cycles,
            "shared": self.shared_cycles,
            "operations": self.operation_cycles,
            "waits": self.wait_cycles,
        }

    @property
    def bottleneck(self) -> Bottleneck:
        """The slowest cause; of equal ones the first."""
        return max(self.causes, key=lambda each: self.causes[each])


def cost_of(device: Device, kernel: KernelCounts) -> KernelCost:
    """Return what a kernel costs; one that fits nowhere as if a block had a processor alone."""
    resident = max(1, resident_blocks(device, kernel))
    sectors = total(kernel, "global")
    sectors += _spilled(device, kernel, kernel.local * WARP * WORD_BYTES // SECTOR_BYTES)
    waiting = _waited(kernel)
    waiting += _spilled(device, kernel, kernel.waits.registers * (WAIT_GLOBAL - WAIT_REGISTERS))
    return KernelCost(
        global_cycles=_divide(sectors * SECTOR_BYTES, device.sector_bytes),
        shared_cycles=total(kernel, "shared"),
        operation_cycles=_divide(kernel.issued, device.operations),
        wait_cycles=_divide(waiting, min(resident, kernel.executed)),
        resident=resident,
        occupancy=min(100, 100 * resident * math.prod(kernel.block) // device.total_threads),
    )


def share_of_copy(kernel: KernelCounts, copy: Traffic, bottleneck: Bottleneck) -> float:
    """Return the share of a cause that a statement takes which stores what it loads.

    Each warp of a block executes it.
    """
    loads = [
        each
        for each in kernel.traffic
        if each.kind == "load" and each.statement == copy.statement and each.scope == "global"
    ]
    warps = _divide(math.prod(kernel.block), WARP)
    of_cause = {
        "waits": (
            copy.requests // warps * (WAIT_GLOBAL if loads else WAIT_SHARED),
            _waited(kernel),
        ),
        "shared": (copy.units, total(kernel, "shared")),
        "global": (sum(each.units for each in loads), total(kernel, "global")),
    }
    part, whole = of_cause.get(bottleneck, (0, 1))
    return part / max(1, whole)


def _waited(kernel: KernelCounts) -> int:
    waits = kernel.waits
    return (
        waits.shared * WAIT_SHARED + waits.global_ * WAIT_GLOBAL + waits.registers * WAIT_REGISTERS
    )


def total(kernel: KernelCounts, scope: Literal["global", "shared"]) -> int:
    """Return the units that all accesses to one kind of memory have moved."""
    return sum(each.units for each in kernel.traffic if each.scope == scope)


def _spilled(device: Device, kernel: KernelCounts, amount: int) -> int:
    """Return the share of an amount that is of local memory beyond a thread's registers."""
    return amount * max(0, kernel.registers - device.registers) // max(1, kernel.registers)


def cycles_of(device: Device, kernels: tuple[KernelCounts, ...]) -> int:
    """Return the cycles of all kernels, one after the other."""
    return sum(cost_of(device, each).cycles for each in kernels)


def intensity(kernel: KernelCounts) -> float:
    """Return operations for each byte from or to global memory, as it is moved."""
    moved = total(kernel, "global") * SECTOR_BYTES
    return kernel.operations / moved if moved else math.inf


def share(cycles: int, naive: int, reference: int) -> float:
    """Return the share of the points: 0 at the naive schedule's cycles, 1 at the reference's.

    Linear in the logarithm between.
    """
    reached = math.log(naive / max(1, cycles)) / math.log(naive / reference)
    return min(1.0, max(0.0, round(reached, 6)))


def _divide(value: int, by: int) -> int:
    return -(-value // by)
