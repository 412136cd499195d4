"""Devices as data: what a block may use, and what one of its processors does in a cycle.

Figures of NVIDIA's CUDA C++ Programming Guide (table of technical specifications by compute
capability) and of the cards' data sheets. They are exact where they limit; speeds are those of one
card of each kind, at its boost clock.
"""

from __future__ import annotations

from typing import Final

import msgspec

from grader.evidence.gpu.messages import KernelCounts


class Device(msgspec.Struct, frozen=True):
    """One architecture.

    `static_bytes` is what a block may have of shared memory whose size the compiler knows,
    `shared_bytes` with what is asked for at the launch. `total_...` are those of a processor, for
    all blocks on it; the system takes `reserved_bytes` of shared memory for each. `sector_bytes`
    (from global memory) and `operations` are for one cycle of one processor.
    """

    name: str
    card: str
    threads: int
    block: tuple[int, int, int]
    grid: tuple[int, int, int]
    static_bytes: int
    shared_bytes: int
    registers: int
    total_threads: int
    total_blocks: int
    total_shared_bytes: int
    total_registers: int
    reserved_bytes: int
    sector_bytes: int
    operations: int


_BLOCK: Final = (1024, 1024, 64)
_GRID: Final = (2**31 - 1, 65535, 65535)
_KIB: Final = 1024


def _device(
    name: str,
    card: str,
    totals: tuple[int, int],
    shared: tuple[int, int],
    speeds: tuple[int, int],
) -> Device:
    threads, blocks = totals
    own, total = shared
    return Device(
        name=name,
        card=card,
        threads=1024,
        block=_BLOCK,
        grid=_GRID,
        static_bytes=48 * _KIB,
        shared_bytes=own * _KIB,
        registers=255,
        total_threads=threads,
        total_blocks=blocks,
        total_shared_bytes=total * _KIB,
        total_registers=65536,
        reserved_bytes=(total - own) * _KIB,
        sector_bytes=speeds[0],
        operations=speeds[1],
    )


DEVICES: Final = {
    each.name: each
    for each in (
        _device("sm_75", "T4", (1024, 16), (64, 64), (5, 128)),
        _device("sm_80", "A100", (2048, 32), (163, 164), (10, 128)),
        _device("sm_90", "H100", (2048, 32), (227, 228), (13, 256)),
        _device("sm_100", "B200", (2048, 32), (227, 228), (27, 256)),
    )
}
"""By the name of the architecture, as targets of TVM have it."""

WARP: Final = 32
REGISTER_UNIT: Final = 8
"""Registers of a thread are handed out by so many."""


class Excess(msgspec.Struct, frozen=True):
    """A limit that a kernel exceeds: which one, what the kernel asks for, what there is."""

    limit: str
    value: int
    most: int


def find_excesses(device: Device, kernel: KernelCounts) -> tuple[Excess, ...]:
    """Return the limits of a device that a kernel exceeds."""
    x, y, z = kernel.block
    asked = [
        Excess("threads", x * y * z, device.threads),
        *(
            Excess(f"block.{n}", v, m)
            for n, v, m in zip("xyz", kernel.block, device.block, strict=True)
        ),
        *(
            Excess(f"grid.{n}", v, m)
            for n, v, m in zip("xyz", kernel.grid, device.grid, strict=True)
        ),
        Excess("static_bytes", kernel.shared_bytes, device.static_bytes),
        Excess("shared_bytes", kernel.shared_bytes + kernel.dynamic_bytes, device.shared_bytes),
    ]
    return tuple(each for each in asked if each.value > each.most)


def resident_blocks(device: Device, kernel: KernelCounts) -> int:
    """Return how many blocks of a kernel a processor holds at once, 0 where not even one.

    Registers are an estimate; what a thread needs beyond the most that it can have is spilled.
    """
    x, y, z = kernel.block
    warps = -(-x * y * z // WARP)
    registers = -(-min(kernel.registers, device.registers) // REGISTER_UNIT) * REGISTER_UNIT
    shared = kernel.shared_bytes + kernel.dynamic_bytes
    blocks = [
        device.total_blocks,
        device.total_threads // (warps * WARP),
        device.total_registers // (registers * warps * WARP),
    ]
    if shared:
        blocks.append(device.total_shared_bytes // (shared + device.reserved_bytes))
    return min(blocks)
