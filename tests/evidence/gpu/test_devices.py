"""What fits on a device, how many blocks run at a time, and how cycles follow."""

import msgspec
import pytest

from grader.evidence.gpu.checks import CostOptions
from grader.evidence.gpu.cost import cost_of, cycles_of, intensity, share
from grader.evidence.gpu.devices import DEVICES, Excess, find_excesses, resident_blocks
from grader.evidence.gpu.messages import KernelCounts, Traffic, Waits

A100 = DEVICES["sm_80"]
KERNEL = KernelCounts(
    grid=(64, 1, 1),
    block=(256, 1, 1),
    executed=64,
    shared_bytes=0,
    dynamic_bytes=0,
    registers=32,
    operations=0,
    issued=0,
    local=0,
    waits=Waits(0, 0, 0),
    traffic=(),
)


def _kernel(**changes: object) -> KernelCounts:
    return msgspec.structs.replace(KERNEL, **changes)


def _moved(scope: str, units: int, least: int = 0) -> Traffic:
    return Traffic(0, "load", "B[0] = A[0]", "A[0]", "A", scope, 1, 4, units, least)


class TestLimits:
    """What a device has room for."""

    def test_a_kernel_that_fits_exceeds_nothing(self) -> None:
        assert () == find_excesses(A100, _kernel(block=(1024, 1, 1), shared_bytes=48 * 1024))

    @pytest.mark.parametrize(
        ("changes", "excess"),
        [
            ({"block": (32, 33, 1)}, Excess("threads", 1056, 1024)),
            ({"block": (1, 1, 65)}, Excess("block.z", 65, 64)),
            ({"grid": (1, 65536, 1)}, Excess("grid.y", 65536, 65535)),
            ({"shared_bytes": 50000}, Excess("static_bytes", 50000, 49152)),
            ({"dynamic_bytes": 170000}, Excess("shared_bytes", 170000, 166912)),
        ],
    )
    def test_what_does_not_fit_is_named(self, changes: dict[str, object], excess: Excess) -> None:
        assert (excess,) == find_excesses(A100, _kernel(**changes))

    def test_dynamic_memory_differs_by_device(self) -> None:
        large = _kernel(dynamic_bytes=100 * 1024)
        assert ["shared_bytes"] == [each.limit for each in find_excesses(DEVICES["sm_75"], large)]
        assert () == find_excesses(A100, large)


class TestResident:
    """How many blocks a processor holds."""

    @pytest.mark.parametrize(
        ("changes", "blocks"),
        [
            ({}, 8),  # 2048 threads
            ({"block": (32, 1, 1)}, 32),  # the most blocks
            ({"block": (33, 1, 1)}, 32),  # 64 threads each, as warps are whole
            ({"registers": 64}, 4),
            ({"registers": 33}, 6),  # handed out by eight: 40
            ({"shared_bytes": 40 * 1024}, 4),  # 41 KiB each of 164, with what the system takes
        ],
    )
    def test_the_scarcest_decides(self, changes: dict[str, object], blocks: int) -> None:
        assert blocks == resident_blocks(A100, _kernel(**changes))


class TestCost:
    """Cycles of the model."""

    def test_sectors_take_the_cycles_of_their_bytes(self) -> None:
        cost = cost_of(A100, _kernel(traffic=(_moved("global", 1000),)))
        assert (3200, "global", 100) == (cost.cycles, cost.bottleneck, cost.occupancy)

    def test_a_pass_over_the_banks_takes_one(self) -> None:
        cost = cost_of(A100, _kernel(traffic=(_moved("shared", 77),)))
        assert (77, "shared") == (cost.cycles, cost.bottleneck)

    def test_idle_threads_cost_as_much_as_busy_ones(self) -> None:
        cost = cost_of(A100, _kernel(operations=128, issued=32 * 128))
        assert (32, "operations") == (cost.cycles, cost.bottleneck)

    def test_other_blocks_hide_what_one_waits_for(self) -> None:
        waiting = {"waits": Waits(0, 0, 64)}
        assert 64 * 400 // 8 == cost_of(A100, _kernel(**waiting)).cycles
        assert 64 * 400 == cost_of(A100, _kernel(executed=1, **waiting)).cycles

    def test_local_memory_beyond_the_registers_is_global_memory(self) -> None:
        assert 0 == cost_of(A100, _kernel(local=100, registers=255)).global_cycles
        cost = cost_of(A100, _kernel(local=100, registers=510))
        assert 100 * 4 // 2 * 32 // 10 == cost.global_cycles

    def test_kernels_run_one_after_the_other(self) -> None:
        kernels = (_kernel(traffic=(_moved("shared", 5),)), _kernel(traffic=(_moved("shared", 7),)))
        assert 12 == cycles_of(A100, kernels)

    def test_intensity_is_operations_for_a_byte_moved(self) -> None:
        assert 0.5 == intensity(_kernel(operations=1600, traffic=(_moved("global", 100),)))


class TestShare:
    """Points by cycles."""

    @pytest.mark.parametrize(
        ("cycles", "points"), [(1600, 0.0), (3000, 0.0), (400, 0.5), (100, 1.0), (50, 1.0)]
    )
    def test_it_is_linear_in_the_logarithm_between_the_anchors(
        self, cycles: int, points: float
    ) -> None:
        assert points == share(cycles, 1600, 100)

    def test_anchors_that_are_no_scale_are_refused_when_the_assignment_is_read(self) -> None:
        """Lint found nothing, and each grading ended with an internal error."""
        with pytest.raises(msgspec.ValidationError, match=r"`reference` \(100\) must be below"):
            msgspec.convert({"naive": 100, "reference": 100}, CostOptions)
