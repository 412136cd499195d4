"""What the threads of a warp move together: sectors of global memory, passes over shared banks."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

WARP = 32
SECTOR = 32
"""Bytes of global memory that are moved together."""

BANKS = 32
WORD = 4
"""Bytes of one bank of shared memory."""

Numbers = npt.NDArray[np.int64]


class Moved(NamedTuple):
    """Warps that asked, bytes that their threads asked for, units moved, and the least possible."""

    requests: int
    bytes: int
    units: int
    least: int


def sectors(index: npt.NDArray[Any], mask: npt.NDArray[np.bool_] | None, size: int) -> Moved:
    """Count the sectors of an access to global memory: `index` has the elements, of `size` bytes,
    by block, thread and, for vectors, lane."""
    rows = _by_warp(index, mask, WARP)
    rows.sort(axis=1)
    asked = rows >= 0
    elements = _distinct(rows)
    moved = _distinct(np.where(asked, rows * size // SECTOR, -1))
    least = -(-elements.sum(axis=1) * size // SECTOR)
    return Moved(
        int(asked.any(axis=1).sum()), int(asked.sum()) * size, int(moved.sum()), int(least.sum())
    )


def passes(index: npt.NDArray[Any], mask: npt.NDArray[np.bool_] | None, size: int) -> Moved:
    """Count the passes of an access to shared memory: threads whose words lie in one bank wait for
    each other, unless it is the same word. Of wide vectors half or a quarter of a warp goes
    together."""
    lanes = index.shape[2] if index.ndim == 3 else 1
    group = max(8, min(WARP, WARP * WORD // (size * lanes)))
    rows = _by_warp(index, mask, group)
    asked = rows >= 0
    words = np.where(asked, rows * size // WORD, -1)
    words.sort(axis=1)
    first = _distinct(words)
    number = np.arange(len(words))[:, None] * BANKS + words % BANKS
    counts = np.bincount(number[first], minlength=len(words) * BANKS).reshape(-1, BANKS)
    busy = int(asked.any(axis=1).sum())
    requests = asked.reshape(-1, WARP // group * rows.shape[1]).any(axis=1)
    return Moved(int(requests.sum()), int(asked.sum()) * size, int(counts.max(axis=1).sum()), busy)


def _by_warp(index: npt.NDArray[Any], mask: npt.NDArray[np.bool_] | None, group: int) -> Numbers:
    """Return one row for `group` threads side by side, -1 for those that do not take part."""
    blocks, threads = index.shape[:2]
    lanes = index.shape[2] if index.ndim == 3 else 1
    padded = -(-threads // WARP) * WARP
    rows = np.full((blocks, padded, lanes), -1, np.int64)
    rows[:, :threads] = index.reshape(blocks, threads, lanes)
    if mask is not None:
        rows[:, :threads][~mask] = -1
    return rows.reshape(-1, group * lanes)


def _distinct(rows: Numbers) -> npt.NDArray[np.bool_]:
    """Mark, in sorted rows, the first of each number that is not negative."""
    first = np.ones(rows.shape, np.bool_)
    first[:, 1:] = rows[:, 1:] != rows[:, :-1]
    marked: npt.NDArray[np.bool_] = first & (rows >= 0)
    return marked
