"""The ledger: what the timed loop writes down of each call."""

from __future__ import annotations

import signal

import numpy as np
import pytest

from grader.inside.runner.arena import TABLE, Ledger
from tests.inside.runner.test_fences import ending, poke

SIZE = 50


@pytest.fixture
def ledger() -> Ledger:
    return Ledger(SIZE)


def arrays(ledger: Ledger) -> list[np.ndarray]:
    return list(ledger.arrays)


class TestLedger:
    def test_places_lie_in_the_output_and_numbers_are_finite(self, ledger: Ledger) -> None:
        ledger.begin()
        _, places, numbers, *_ = arrays(ledger)
        assert (places >= 0).all()
        assert (places < SIZE).all()
        assert SIZE == len(set(places.tolist()))
        assert np.isfinite(numbers).all()

    def test_each_slice_has_its_own(self, ledger: Ledger) -> None:
        ledger.begin()
        first = [each.copy() for each in arrays(ledger)[1:3]]
        ledger.begin()
        second = arrays(ledger)[1:3]
        assert not any(np.array_equal(one, two) for one, two in zip(first, second, strict=True))

    def test_a_call_by_itself_finds_poison(self, ledger: Ledger) -> None:
        ledger.begin(poison=True)
        assert np.isnan(arrays(ledger)[2]).all()

    def test_a_slice_begins_with_nothing_that_another_has_left(self, ledger: Ledger) -> None:
        count, _, _, slots, _ = arrays(ledger)
        ledger.begin()
        count[0], slots[:3] = 3, 1.0
        assert 3 == ledger.calls
        ledger.begin()
        assert 0 == ledger.calls
        assert np.isnan(slots[:3]).all()

    @pytest.mark.parametrize(("count", "calls"), [(-5, 0), (2**62, TABLE)])
    def test_a_count_that_cannot_be_is_cut(self, ledger: Ledger, count: int, calls: int) -> None:
        arrays(ledger)[0][0] = count
        assert calls == ledger.calls

    def test_blocks_took_what_the_clock_said(self, ledger: Ledger) -> None:
        """A time is two numbers, seconds and nanoseconds."""
        arrays(ledger)[4][:8] = [5, 999_999_000, 6, 1000, 7, 500, 7, 500]
        assert [2e-6, 1e-9] == pytest.approx(ledger.seconds(2).tolist())

    @pytest.mark.parametrize("table", [1, 2], ids=["places", "numbers"])
    def test_tables_cannot_be_written_while_a_block_runs(self, ledger: Ledger, table: int) -> None:
        ledger.begin()
        address = arrays(ledger)[table].ctypes.data
        assert -signal.SIGSEGV == ending(poke(address))

    @pytest.mark.parametrize(
        "table", range(5), ids=["count", "places", "numbers", "slots", "stamps"]
    )
    def test_nothing_lies_behind_a_table(self, ledger: Ledger, table: int) -> None:
        ledger.begin()
        array = arrays(ledger)[table]
        end = -(-(array.ctypes.data + array.nbytes) // 64) * 64
        assert -signal.SIGSEGV == ending(poke(end))

    def test_what_is_written_beside_a_table_shows(self, ledger: Ledger) -> None:
        assert ledger.is_intact()
        poke(arrays(ledger)[0].ctypes.data - 1)()
        assert not ledger.is_intact()
