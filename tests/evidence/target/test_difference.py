"""Which thirds of a target a function has, and what a student is told to do next.

Blocks with their loops: what stands beside what, whatever it is called.
"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from grader.evidence.target.difference import (
    THIRDS,
    Difference,
    Level,
    compare_functions,
    read_nests,
)
from tests.evidence.products import (
    Spatial,
    Steps,
    Written,
    facts_after,
    facts_of,
    other_order,
    relu_in_every_round,
    transform,
    transformed,
)


def but(**changes: Any) -> Steps:
    return lambda sch: transform(sch, **changes)


def _name(value: Any) -> str | None:
    """Name a case by what is done otherwise."""
    return str(value) if isinstance(value, dict) else None


def compare(steps: Steps) -> tuple[tuple[str, ...], Difference]:
    likeness = compare_functions(transformed(), facts_after(steps))
    assert likeness.first is not None
    return likeness.right, likeness.first


class TestEqual:
    def test_all_thirds_are_right(self):
        assert (THIRDS, None) == compare_functions(transformed(), transformed())

    def test_what_the_statements_say_is_no_difference(self):
        assert (THIRDS, None) == compare_functions(facts_of(Written), facts_of(other_order()))


class TestThirds:
    @pytest.mark.parametrize(
        ("changes", "right"),
        [
            ({"terms": 8}, ("places",)),
            ({"swapped": True}, ("annotations", "places")),
            ({"without": "parallel"}, ("loops", "places")),
            ({"without": "unroll"}, ("loops", "places")),
            ({"without": "second vectorize"}, ("loops", "places")),
            ({"without": "decompose"}, ("loops", "annotations")),
            ({"at": -1}, ("loops", "annotations")),
            ({"without": "reverse_compute_at"}, ("loops",)),
        ],
        ids=_name,
    )
    def test_each_stands_by_itself(self, changes: dict[str, Any], right: tuple[str, ...]):
        assert right == compare(but(**changes))[0]

    def test_an_unscheduled_function_has_none(self):
        assert () == compare_functions(transformed(), facts_of(Written)).right

    def test_nor_has_it_any_of_a_target_without_annotations(self):
        def split(sch: Any) -> None:
            *_, k = sch.get_loops(sch.get_sblock("Y", "bmm_relu"))
            sch.split(k, [None, 4])

        assert () == compare_functions(facts_after(split), facts_of(Written)).right

    def test_a_function_without_blocks_has_none(self):
        flat = msgspec.structs.replace(transformed(), blocks=())
        likeness = compare_functions(transformed(), flat)
        assert () == likeness.right
        assert likeness.first is not None
        assert "no blocks" in likeness.first.reason.english


class TestWords:
    @pytest.mark.parametrize(
        ("changes", "reason", "hint"),
        [
            (
                {"terms": 8},
                "The loops over the sum around `Y_update` have the extents [16, 8]; they should"
                " have [32, 4].",
                "`split` that loop with the factors [32, 4].",
            ),
            (
                {"swapped": True},
                "Loop 2 around `Y_update` has 16 iterations along axis 2; it should have 128"
                " iterations along axis 1.",
                "`reorder` the loops.",
            ),
            (
                {"lanes": 16},
                "Loop 3 around `Y_update` has 8 iterations along axis 2; it should have 16"
                " iterations along axis 2.",
                "The loops along axis 2 should have the extents [16, 8], outermost first: give"
                " `split` the factors in this order, and do not swap its loops.",
            ),
            (
                {"without": "unroll"},
                "Loop 5 around `Y_update` (4 iterations over the sum) should be unrolled; it"
                " is serial.",
                "Call `unroll` on it.",
            ),
            (
                {"without": "vectorize"},
                "Loop 6 around `Y_update` (8 iterations along axis 2) should be vectorized; "
                "it is serial.",
                "Call `vectorize` on it, before you decompose the reduction.",
            ),
            (
                {"without": "reverse_compute_at"},
                "`C` is outside all loops of `Y_update`; in the target it is inside the first 3.",
                "Call `reverse_compute_at` for it with loop 3 around `Y_update`.",
            ),
            (
                {"without": "decompose"},
                "The sum is initialised within `Y`; in the target, in a separate block.",
                "As the last step, call `decompose_reduction` for it with loop 4.",
            ),
            (
                {"at": -1},
                "The sum is initialised inside the first 2 loops of `Y_update`; in the target,"
                " inside the first 3.",
                "As the last step, call `decompose_reduction` for it with loop 4.",
            ),
        ],
        ids=_name,
    )
    def test_they_name_the_first_difference_and_the_primitive(
        self, changes: dict[str, Any], reason: str, hint: str
    ):
        found = compare(but(**changes))[1]
        assert found is not None
        assert (reason, hint) == (found.reason.english, found.hint.english)

    def test_loops_that_were_fused_are_not_to_be_split(self):
        def fused(sch: Any) -> None:
            n, i, _, _ = sch.get_loops(sch.get_sblock("Y", "bmm_relu"))
            sch.fuse(n, i)

        found = compare(fused)[1]
        assert "along the axes 0, 1" in found.reason.english
        assert "`fuse`" in found.hint.english

    def test_a_sum_whose_axis_is_declared_as_spatial_is_to_be_declared(self):
        """Its author was told not to split a loop which the target splits."""
        likeness = compare_functions(transformed(), facts_after(transform, Spatial))
        assert likeness.first is not None
        assert "declare each axis of the sum as a reduction" in likeness.first.hint.english

    def test_what_is_not_in_the_target_is_to_be_left_out(self):
        likeness = compare_functions(facts_of(Written), transformed())
        assert likeness.first is not None
        assert "`Y_update` have the extents [16, 8]; they should have [128]" in (
            likeness.first.reason.english
        )
        assert "`split`" in likeness.first.hint.english

    def test_a_block_more_is_one_that_the_target_has_not(self):
        def cache(sch: Any) -> None:
            sch.cache_read(sch.get_sblock("Y", "bmm_relu"), 1, "global")
            transform(sch)

        assert [2, 1] == [*compare(cache)[1].reason.values.values()]

    def test_a_block_that_was_never_written_is_not_looked_for_in_caches(self):
        def one_block(sch: Any) -> None:
            sum_and_relu = sch.get_sblock("Y", "bmm_relu")
            n, _, j, k = sch.get_loops(sum_and_relu)
            sch.parallel(n)
            j_0, j_1 = sch.split(j, [None, 8])
            k_0, k_1 = sch.split(k, [None, 4])
            sch.reorder(j_0, k_0, k_1, j_1)
            sch.unroll(k_1)
            sch.vectorize(j_1)
            sch.decompose_reduction(sum_and_relu, k_0)

        likeness = compare_functions(transformed(), facts_after(one_block, relu_in_every_round()))
        assert likeness.first is not None
        assert "in a block of its own" in likeness.first.hint.english


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
    init, product, relu = read_nests(transformed())
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
