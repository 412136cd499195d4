"""The loops of additions, on this machine's own core."""

from __future__ import annotations

import numpy as np
import pytest
import tvm

from grader.inside.runner.core import CHAINS, MOST_LOOKS, CoreLoops, _program
from grader.timing.core import CHAIN, WIDE


def looked(count: int) -> np.ndarray:
    core = CoreLoops(tvm.target.Target("llvm"))
    for number in range(count):
        core.look(number)
    return core.seconds(count)


def test_independent_additions_take_a_part_of_what_a_chain_takes() -> None:
    """The chain takes a cycle each, from 2 to 10 per nanosecond; the most units there are are
    `CHAINS`. Of many looks the quickest are those of no interruption."""
    seconds = looked(50).min(axis=1)
    assert 5e-11 < seconds[CHAIN] < 2e-9
    assert 1.2 < seconds[CHAIN] / seconds[WIDE] < 1.02 * CHAINS


def test_each_look_has_a_time_of_either_loop() -> None:
    assert (2, 7) == looked(7).shape


def test_a_look_for_which_there_is_no_room_is_refused() -> None:
    """Two functions had 129 looks, which were written behind an array of 65."""
    assert (2, MOST_LOOKS) == looked(MOST_LOOKS).shape
    with pytest.raises(ValueError, match="There is no look 257 of 257"):
        looked(MOST_LOOKS + 1)


def test_no_addition_can_be_left_out() -> None:
    """Behind each stands assembly that needs its sum."""
    lines = _program().splitlines()
    assert sum(" add i64 " in each for each in lines) == sum(" asm " in each for each in lines) > 0
