"""Blocks with their loops: what stands beside what, whatever it is called."""

from __future__ import annotations

from typing import Any

from grader.checks.difference import Level, read_nests
from tests.evidence.products import Written, facts_after, facts_of, transform


def test_blocks_of_one_name_for_their_loops_have_none_in_common():
    """The two nests of the unscheduled function begin with n, i and j both."""
    product, relu = read_nests(facts_of(Written))
    assert ("sum", 4, "other", 0) == (product.role, product.shared, relu.role, relu.shared)
    assert 3 == len(relu.own)


def test_a_level_is_extent_axes_and_kind():
    (product, _) = read_nests(facts_of(Written))
    assert (Level(16, (0,), "serial"), Level(128, (), "serial")) == (
        product.levels[0],
        product.levels[-1],
    )


def test_a_block_that_was_moved_has_loops_in_common_with_the_sum():
    init, product, relu = read_nests(facts_after(transform))
    assert ("init", "sum", "other") == (init.role, product.role, relu.role)
    assert (3, 6, 3) == (init.shared, product.shared, relu.shared)
    assert (Level(8, (2,), "vectorized"),) == init.own == relu.own


def test_a_block_around_others_is_none():
    def blockize(sch: Any) -> None:
        *_, k = sch.get_loops(sch.get_sblock("Y", "bmm_relu"))
        sch.blockize(k)

    function = facts_after(blockize)
    inside = [block for block in function.blocks if block.parent is not None]
    assert inside
    assert len(function.blocks) - 1 == len(read_nests(function))
