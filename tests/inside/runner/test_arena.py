"""The arrays of timed functions: made anew before each block, and looked at after it."""

from __future__ import annotations

import numpy as np
import pytest

from grader.inside.runner.arena import ALIGNMENT, PLACEMENTS, PLACES, Arena
from grader.inside.runner.signature import OUTPUT, Arrays
from tests.inside.runner.timed import RING, draw


def arrays(inputs: np.ndarray) -> Arrays:
    return Arrays("data", inputs, {"weight": draw(2, 3), "bias": draw(2)})


class TestArena:
    @pytest.fixture
    def arena(self) -> Arena:
        return Arena(arrays(draw(RING, 1, 1, 5, 5)), RING, {"bias": (1, 2), OUTPUT: (3,)})

    def test_each_input_of_the_ring_is_aligned(self, arena: Arena) -> None:
        assert arena.row * 4 % 64 == 0
        assert np.array_equal(
            arena.arrays["data"].copy()[:, :25], draw(RING, 1, 1, 5, 5).reshape(RING, 25)
        )

    def test_restoring_undoes_whatever_was_done(self, arena: Arena) -> None:
        before = {role: array.copy() for role, array in arena.arrays.items()}
        for array in arena.arrays.values():
            array[...] = 7
        arena.restore()
        for role, array in arena.arrays.items():
            np.testing.assert_array_equal(array.copy(), before[role])
        assert np.isnan(arena.output()).all()

    @pytest.mark.parametrize("role", ["data", "weight", "bias", "output"])
    def test_a_changed_input_is_noticed_and_a_written_output_is_none(
        self, arena: Arena, role: str
    ) -> None:
        assert arena.is_untouched()
        arena.arrays[role].reshape(-1)[-1] = 7
        assert (role == "output") == arena.is_untouched()

    def test_each_turn_has_the_next_inputs(self) -> None:
        inputs = draw(5, 1, 1, 4, 4)
        arena = Arena(arrays(inputs), 2, {"bias": (1, 2), OUTPUT: (3,)})
        for turn, start in ((0, 0), (1, 2), (2, 0), (3, 2)):
            arena.take_turn(turn, 0)
            arena.restore()
            held = arena.arrays["data"].copy()
            assert start == arena.start
            assert np.array_equal(inputs[start : start + 2].reshape(2, 16), held)

    def test_placements_are_different_and_aligned(self, arena: Arena) -> None:
        places: dict[str, set[int]] = {role: set() for role in arena.arrays}
        for placement in range(PLACEMENTS):
            arena.take_turn(0, placement)
            for role, array in arena.arrays.items():
                places[role].add(array.ctypes.data)
        assert all(len(each) == PLACEMENTS for each in places.values())
        addresses = [address for each in places.values() for address in each]
        assert all(address % ALIGNMENT == 0 for address in addresses)
        for each in places.values():
            assert max(each) - min(each) < PLACES * ALIGNMENT

    def test_a_move_changes_nothing_but_the_place(self, arena: Arena) -> None:
        before = {role: array.copy() for role, array in arena.arrays.items()}
        arena.take_turn(0, 2)
        arena.restore()
        assert arena.is_untouched()
        for role, array in arena.arrays.items():
            np.testing.assert_array_equal(before[role], array.copy())

    def test_placements_are_the_same_in_every_grading(self) -> None:
        def offsets(placement: int) -> list[int]:
            arena = Arena(arrays(draw(4, 1, 4)), 2, {OUTPUT: (3,)})
            first = {role: each.ctypes.data for role, each in views(arena).items()}
            arena.take_turn(0, placement)
            return [each.ctypes.data - first[role] for role, each in views(arena).items()]

        assert offsets(1) == offsets(1) == offsets(1 + PLACEMENTS) != offsets(2)


def views(arena: Arena) -> dict[str, np.ndarray]:
    return dict(arena.arrays)
