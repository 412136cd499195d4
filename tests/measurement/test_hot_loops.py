"""What is said of two hot loops: only what differs, with the numbers of both."""

from __future__ import annotations

import msgspec
import pytest

from grader.language import LANGUAGES
from grader.measurement.hot_loops import explain
from grader.messages.timing import HotLoop, HotLoops
from tests.measurement.test_speed import Machine, timed
from tests.sample_reports import TIMING

REFERENCE = HotLoop(
    multiply_adds=54, products=864, vector_bits=512, loads=27, stores=6, spills=0, reloads=0
)
SLOWER = msgspec.structs.replace(TIMING, ci_high=0.98)
FASTER = msgspec.structs.replace(TIMING, share_high=1.02)


def like_the_reference(**changes: int) -> HotLoop:
    return msgspec.structs.replace(REFERENCE, **changes)


def told(own: HotLoop | None, other: HotLoop | None = REFERENCE) -> list[str]:
    return [each.english for each in explain(HotLoops(None, own, other), TIMING)]


class TestSentences:
    def test_shorter_vectors(self) -> None:
        own = like_the_reference(multiply_adds=45, products=234, vector_bits=256)
        assert [
            "The hot loop multiplies 5.2 numbers per instruction, in vectors of at most 256 bits; "
            "the hot loop of the reference schedule multiplies 16, in vectors of 512 bits."
        ] == told(own)

    def test_no_vectors(self) -> None:
        own = like_the_reference(products=54, vector_bits=32)
        assert [
            "The hot loop multiplies one number per instruction, without vectors; the hot loop "
            "of the reference schedule multiplies 16, in vectors of 512 bits."
        ] == told(own)

    def test_more_loads_and_stores(self) -> None:
        own = like_the_reference(loads=162, stores=18)
        assert [
            "The hot loop executes 3.00 loads and 0.33 stores for each multiply-add; the hot loop "
            "of the reference schedule executes 0.50 and 0.11."
        ] == told(own)

    def test_too_few_registers(self) -> None:
        own = like_the_reference(multiply_adds=288, products=4608, loads=30, spills=15, reloads=591)
        assert [
            "The hot loop keeps values on the stack instead of in registers: an iteration moves"
            " 606 of them for 288 multiply-adds; the hot loop of the reference schedule moves 0 for"
            " 54."
        ] == told(own)

    def test_a_few_values_on_the_stack_beside_many_loads_are_not_told(self) -> None:
        (text,) = told(like_the_reference(loads=432, reloads=20))
        assert "stack" not in text

    def test_all_three_and_no_more(self) -> None:
        assert 3 == len(told(HotLoop(32, 32, 32, loads=40, stores=16, spills=8, reloads=18)))


class TestSilence:
    @pytest.mark.parametrize(
        "own",
        [
            REFERENCE,
            like_the_reference(loads=30, stores=7),
            like_the_reference(spills=2, reloads=2),
            like_the_reference(loads=7, reloads=25),
            like_the_reference(loads=0),
            None,
        ],
    )
    def test_what_does_not_differ_explains_nothing(self, own: HotLoop | None) -> None:
        assert [] == told(own)

    def test_without_the_reference_s_there_is_nothing_to_compare_with(self) -> None:
        assert [] == told(like_the_reference(loads=500), other=None)

    def test_vectors_of_unknown_length_are_not_compared(self) -> None:
        assert [] == told(like_the_reference(products=0, vector_bits=0))

    def test_what_is_as_fast_as_the_reference_needs_no_explanation(self) -> None:
        loops = HotLoops(None, like_the_reference(loads=500), REFERENCE)
        assert () == explain(loops, FASTER)


class TestUnscheduled:
    PLAIN = like_the_reference(multiply_adds=45, products=234, vector_bits=256)

    def test_beside_what_is_slower_than_it_stands_the_unscheduled_function(self) -> None:
        loops = HotLoops(self.PLAIN, like_the_reference(products=54, vector_bits=32), REFERENCE)
        (text,) = explain(loops, SLOWER)
        assert "the unscheduled function multiplies 5.2, in vectors of 256 bits." in text.english


def test_what_a_runner_counted_reaches_the_check() -> None:
    counted = HotLoops(submission=REFERENCE)
    machine = Machine(spoil=lambda answer: msgspec.structs.replace(answer, hot_loops=counted))
    assert counted == timed(machine).hot_loops


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_has_all_numbers(language: str) -> None:
    own = HotLoop(40, 42, 128, loads=52, stores=20, spills=8, reloads=19)
    width, memory, stack = explain(HotLoops(None, own, REFERENCE), TIMING)
    for text, numbers in (
        (width, ["1", "128", "16", "512"]),
        (memory, ["1.30", "0.50", "0.11"]),
        (stack, ["27", "40", "0", "54"]),
    ):
        assert all(number in text.in_(language) for number in numbers)
