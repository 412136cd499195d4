"""Hot loops of schedules that TVM compiles, for processors that need not be at hand."""

from __future__ import annotations

import pytest

from grader.hotloop import find_hot_loop
from grader.hotloop.aarch64 import AArch64
from grader.hotloop.instructions import read_functions
from grader.hotloop.loops import find_loops
from grader.hotloop.x86 import X86
from grader.messages.timing import HotLoop
from tests.hotloop.compiled import (
    MULTIPLY_ADDS,
    SCHEDULES,
    TARGETS,
    assembly,
    compiled,
    target,
    workload,
)


def hot_loop(schedule: str, processor: str) -> HotLoop:
    found = find_hot_loop(assembly(schedule, processor))
    assert found is not None
    return found


def per_instruction(found: HotLoop) -> float:
    return found.products / found.multiply_adds


def estimated(text: str, *, is_x86: bool) -> int:
    """Return how many products a call makes, by all of its loops' estimated rounds."""
    syntax = X86() if is_x86 else AArch64()
    return sum(
        loop.rounds * (syntax.effect(one, has_frame=False).fused)
        for function in read_functions(text)
        for loop in find_loops(function, syntax)
        for one in loop.instructions
    )


@pytest.mark.parametrize("processor", ["haswell", "skylake-avx512", "neoverse-n1"])
@pytest.mark.parametrize("schedule", ["unscheduled", "reference"])
def test_instructions_and_rounds_add_up_to_the_work_of_the_convolution(
    schedule: str, processor: str
) -> None:
    text = assembly(schedule, processor)
    assert MULTIPLY_ADDS == estimated(text, is_x86=processor != "neoverse-n1")


class TestWidth:
    @pytest.mark.parametrize(
        ("processor", "bits"),
        [("x86-64", 128), ("haswell", 256), ("skylake-avx512", 512), ("neoverse-n1", 128)],
    )
    def test_the_reference_takes_whole_vectors(self, processor: str, bits: int) -> None:
        found = hot_loop("reference", processor)
        assert (bits, bits / 32) == (found.vector_bits, per_instruction(found))

    def test_a_remainder_of_single_pixels_counts(self) -> None:
        found = hot_loop("unscheduled", "haswell")
        # a row is 3 vectors of 8 and 2 pixels, in 5 instructions
        assert (256, 26 / 5) == (found.vector_bits, per_instruction(found))

    def test_without_vectors_it_is_that_of_a_number(self) -> None:
        found = hot_loop("scalar", "haswell")
        assert (32, 1.0) == (found.vector_bits, per_instruction(found))

    def test_of_vectors_whose_length_only_the_processor_knows_nothing_is_said(self) -> None:
        found = hot_loop("unscheduled", "neoverse-v1")
        assert (0, 0) == (found.vector_bits, found.products)
        assert found.multiply_adds == found.loads == 9


class TestMemory:
    def test_a_tile_loads_less_often_than_it_multiplies(self) -> None:
        found = hot_loop("reference", "skylake-avx512")
        assert 2 * found.loads == found.multiply_adds

    def test_a_sum_that_stays_in_memory_is_loaded_and_stored_each_time(self) -> None:
        found = hot_loop("scalar", "haswell")
        assert found.stores == found.multiply_adds

    def test_each_number_of_a_scattered_store_counts(self) -> None:
        found = hot_loop("scalar", "skylake-avx512")
        assert found.stores == 8 * found.multiply_adds

    def test_vectors_that_no_processor_has_take_several_loads(self) -> None:
        found = hot_loop("vectors_of_13", "skylake-avx512")
        assert found.loads >= 3 * found.multiply_adds


class TestStack:
    @pytest.mark.parametrize("processor", [*TARGETS])
    def test_sums_without_registers_lie_on_the_stack(self, processor: str) -> None:
        found = hot_loop("too_many_sums", processor)
        assert found.spills + found.reloads > found.multiply_adds / 2

    @pytest.mark.parametrize("processor", ["haswell", "skylake-avx512", "neoverse-n1"])
    def test_the_tile_of_the_reference_fits_the_registers(self, processor: str) -> None:
        found = hot_loop("reference", processor)
        assert (0, 0) == (found.spills, found.reloads)

    def test_so_do_those_of_a_small_array_that_the_compiler_leaves_there(self) -> None:
        found = hot_loop("small_array", "haswell")
        assert (26, 26) == (found.spills, found.reloads)


class TestOtherTypes:
    @pytest.mark.parametrize("processor", [*TARGETS])
    def test_products_of_int8_are_counted(self, processor: str) -> None:
        module = workload("quantized").reference("matmul", {}, 1)
        found = find_hot_loop(compiled(module, target(processor)))
        assert found is not None
        assert 8.0 == per_instruction(found)

    def test_a_function_that_multiplies_nothing_has_no_hot_loop(self) -> None:
        text = assembly("unscheduled", "haswell").replace("vfmadd", "vfmodd")
        assert find_hot_loop(text) is None


@pytest.mark.parametrize("schedule", [*SCHEDULES])
def test_a_module_compiled_twice_has_the_same_numbers(schedule: str) -> None:
    with target("haswell") as chosen:
        again = compiled(SCHEDULES[schedule](), chosen)
    assert hot_loop(schedule, "haswell") == find_hot_loop(again)
