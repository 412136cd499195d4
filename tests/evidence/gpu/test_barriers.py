"""Barriers that are missing, or stand in the wrong place: they are named with both statements."""

import pytest

from grader.evidence.gpu.inside.audit import find_needless
from grader.evidence.gpu.inside.execution import Execution, Program
from grader.evidence.gpu.messages import Finding
from tests.evidence.gpu.barriers import Mutant, barriers, doubled, lines_of, moved, parse, removed
from tests.evidence.gpu.schedules import RIGHT

SHARING = (
    "transposition by shared memory",
    "transposition with padded rows",
    "window",
    "wide window",
    "window of ragged blocks",
    "product of single elements",
    "tiled product",
    "product fetched by vectors",
    "product by ragged tiles",
    "product with ragged steps",
    "convolution",
)


class TestRemoved:
    """A kernel without one of its barriers."""

    @pytest.mark.parametrize("name", SHARING)
    def test_the_two_statements_that_it_kept_apart_are_named(self, name: str) -> None:
        lines, shapes, arrays = _kernel(name)
        for mutant in removed(lines):
            races = _execute(mutant, shapes, arrays)[0].findings
            assert races, mutant.line
            for race in races:
                assert "race" == race.kind
                first, second = race.accesses
                assert first.thread != second.thread
                assert first.block == second.block
                assert {"load", "store"} == {first.kind, second.kind}
                assert race.buffer in first.text
                assert race.buffer in second.text

    @pytest.mark.parametrize("name", SHARING)
    def test_a_barrier_at_the_beginning_of_a_round_guards_the_round_before(self, name: str) -> None:
        lines, shapes, arrays = _kernel(name)
        for mutant in removed(lines):
            findings = _execute(mutant, shapes, arrays)[0].findings
            opens = "alloc_shared" in lines[mutant.line - 1] and len(barriers(lines)) > 1
            assert opens == all(each.loop for each in findings)


class TestMoved:
    """A kernel with a barrier one statement earlier or later."""

    @pytest.mark.parametrize("name", SHARING)
    def test_a_race_is_found_unless_no_access_lies_between(self, name: str) -> None:
        lines, shapes, arrays = _kernel(name)
        for mutant in moved(lines):
            above = lines[mutant.line - 1]
            same = mutant.label == "earlier" and "alloc_shared" in above
            findings = _execute(mutant, shapes, arrays)[0].findings
            assert same == (not findings)
            assert {"race"} >= {each.kind for each in findings}


class TestDoubled:
    """A kernel with a barrier twice."""

    @pytest.mark.parametrize("name", SHARING)
    def test_it_is_waste_and_no_mistake(self, name: str) -> None:
        lines, shapes, arrays = _kernel(name)
        for mutant in doubled(lines):
            execution, needless = _execute(mutant, shapes, arrays)
            assert () == execution.findings
            assert ["needless_barrier"] == [each.kind for each in needless]

    @pytest.mark.parametrize("name", SHARING)
    def test_of_the_right_kernel_each_barrier_is_needed(self, name: str) -> None:
        lines, shapes, arrays = _kernel(name)
        whole = Mutant("", parse(lines), 0)
        assert () == _execute(whole, shapes, arrays)[1]


def _kernel(name: str):  # type: ignore[no-untyped-def]
    example = RIGHT[name]()
    return (*lines_of(example), example.arrays())


def _execute(mutant: Mutant, shapes, arrays) -> tuple[Execution, tuple[Finding, ...]]:  # type: ignore[no-untyped-def]
    program, outputs = Program(mutant.function, shapes), [len(arrays) - 1]
    execution = program.execute(arrays, outputs)
    return execution, find_needless(program, execution, arrays, outputs)
