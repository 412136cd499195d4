"""Sectors and passes of single accesses, as one counts them by hand."""

import numpy as np
import pytest

from grader.evidence.gpu.inside.traffic import Moved, passes, sectors

LANES = np.arange(32)


@pytest.mark.parametrize(
    ("index", "size", "units", "least"),
    [
        (LANES, 4, 4, 4),  # neighbours: 128 bytes
        (LANES + 1, 4, 5, 4),  # not at the beginning of a sector
        (LANES * 2, 4, 8, 4),
        (LANES * 8, 4, 32, 4),
        (LANES * 1000, 4, 32, 4),
        (LANES * 0, 4, 1, 1),  # all the same
        (LANES // 2, 4, 2, 2),
        (31 - LANES, 4, 4, 4),
        (LANES, 2, 2, 2),
        (LANES, 8, 8, 8),
    ],
)
def test_sectors_of_a_warp(index: np.ndarray, size: int, units: int, least: int) -> None:
    assert Moved(1, 32 * size, units, least) == sectors(index[None], None, size)


@pytest.mark.parametrize(
    ("index", "units"),
    [
        (LANES, 1),
        (LANES * 2, 2),
        (LANES * 3, 1),  # odd strides meet every bank once
        (LANES * 16, 16),
        (LANES * 32, 32),  # a column of a matrix with rows of 32 words
        (LANES * 33, 1),  # the same with rows of 33
        (LANES * 0, 1),  # one word for all: a broadcast
        (LANES // 8 * 32, 4),
    ],
)
def test_passes_of_a_warp(index: np.ndarray, units: int) -> None:
    assert Moved(1, 128, units, 1) == passes(index[None], None, 4)


def test_halves_share_words() -> None:
    assert Moved(1, 64, 1, 1) == passes(LANES[None], None, 2)


def test_vectors_of_four_go_a_quarter_of_a_warp_at_a_time() -> None:
    index = LANES[:, None] * 4 + np.arange(4)
    assert Moved(1, 512, 4, 4) == passes(index[None], None, 4)
    assert Moved(1, 512, 16, 16) == sectors(index[None], None, 4)


def test_only_threads_that_take_part_count() -> None:
    mask = (LANES < 8)[None]
    assert Moved(1, 32, 1, 1) == sectors(LANES[None], mask, 4)
    assert Moved(1, 32, 8, 1) == passes(LANES[None] * 32, mask, 4)


def test_a_warp_that_nobody_takes_part_of_asks_for_nothing() -> None:
    mask = np.zeros((1, 64), np.bool_)
    mask[0, 40] = True
    index = np.arange(64)[None]
    assert Moved(1, 4, 1, 1) == sectors(index, mask, 4)
    assert Moved(1, 4, 1, 1) == passes(index, mask, 4)


def test_threads_that_fill_no_warp_are_one_request() -> None:
    index = np.arange(40)[None]
    assert Moved(2, 160, 5, 5) == sectors(index, None, 4)
