"""The loops of additions, on this machine's own core."""

from __future__ import annotations

import numpy as np
import pytest
import tvm

from grader.inside.runner.core import CHAINS, MOST_LONGER, MOST_LOOKS, CoreLoops, _program, longer
from grader.timing.core import AFTER, BEFORE, LOOPS, WIDE


def looked(count: int) -> np.ndarray:
    core = CoreLoops(tvm.target.Target("llvm"))
    for number in range(count):
        core.look(number)
    return core.seconds(count)


def test_independent_additions_take_a_part_of_what_a_chain_takes() -> None:
    """The chain takes a cycle each, from 2 to 10 per nanosecond; the most units there are are
    `CHAINS`. Of many looks the quickest are those of no interruption."""
    seconds = looked(50).min(axis=1)
    for chain in seconds[[BEFORE, AFTER]]:
        assert 5e-11 < chain < 2e-9
        assert 1.2 < chain / seconds[WIDE] < 1.02 * CHAINS


def test_each_look_has_a_time_of_each_loop() -> None:
    assert (LOOPS, 7) == looked(7).shape


def test_a_look_for_which_there_is_no_room_is_refused() -> None:
    """Two functions had 129 looks, which were written behind an array of 65."""
    assert (LOOPS, MOST_LOOKS) == looked(MOST_LOOKS).shape
    with pytest.raises(ValueError, match="There is no look 257 of 257"):
        looked(MOST_LOOKS + 1)


def test_no_addition_can_be_left_out() -> None:
    """Behind each stands assembly that needs its sum."""
    lines = _program().splitlines()
    sums = [each for each in lines if " asm " in each and "%number)" not in each]
    assert sum(" add i64 " in each for each in lines) == len(sums) > 0


def test_what_is_added_is_no_constant() -> None:
    """Intel's cores since Alder Lake add a constant while they rename registers: the chain took no
    longer than the independent additions, and no core was ever free."""
    lines = _program().splitlines()
    opaque = [each for each in lines if " asm " in each and "%number)" in each]
    assert [each.split()[0] for each in opaque] == ["%added"] * LOOPS
    assert all(each.endswith(", %added") for each in lines if " add i64 " in each)


def test_a_look_is_as_long_where_a_function_has_left_nothing_in_the_caches() -> None:
    """The chain took a twentieth longer, and a free core seemed to have 4.15 units: beside a
    function that moves 64 MB it was never free."""
    core = CoreLoops(tvm.target.Target("llvm"))
    memory = np.zeros(2**23)
    for number in range(0, 60, 2):
        memory += 1.0
        core.look(number)
        core.look(number + 1)
    chain = core.seconds(60)[BEFORE]
    assert chain[::2].min() < 1.025 * chain[1::2].min()


@pytest.mark.parametrize("step", [42, 100])
def test_loops_last_many_steps_of_a_coarse_clock(step: int) -> None:
    begins = np.linspace(0, 1e4, 100)
    short, usual = (
        np.stack([(begins + each) // step - begins // step for each in lasting]).astype(int) * step
        for lasting in ((30, 50), (5400, 2700))
    )
    assert 100 * step <= 2700 * longer(short, usual) < 250 * step


def test_loops_are_no_longer_than_usual_on_a_clock_that_tells_nanoseconds() -> None:
    assert 1 == longer(np.array([[30, 50]]), np.array([[5400, 2700]]))


def test_a_clock_that_stands_still_makes_no_loop_without_end() -> None:
    assert MOST_LONGER == longer(np.zeros((9, 2), int), np.array([[0, 0], [0, 4 * 10**6]]))
    assert longer(np.zeros((9, 2), int), np.zeros((9, 2), int)) == 1
