"""Reading the steps of a schedule off the scheduled function."""

from __future__ import annotations

from grader.referee.steps import Steps, find_steps
from tests.referee.factory import WEIGHT, convolution, init, loops, padding, update

BASE = convolution(padding(), update())


def steps(*blocks, base=BASE) -> Steps:
    return find_steps(convolution(*blocks), base, WEIGHT)


def test_an_untouched_function_shows_no_step():
    assert Steps(False, False, False, False) == steps(padding(), update())


def test_an_untouched_function_shows_no_step_where_its_base_is_unknown():
    assert Steps(False, False, False, False) == steps(padding(), update(), base=None)


def test_inlining_shows_by_the_missing_padding_block():
    assert Steps(True, False, False, False) == steps(update())


def test_a_padding_that_never_was_is_no_step_by_itself():
    assert Steps(False, False, False, False) == steps(update(), base=convolution(update()))


def test_a_padding_that_never_was_counts_as_inlined_beside_another_step():
    blocks = (init(), update(has_init=False))
    assert Steps(True, False, True, False) == steps(*blocks, base=convolution(update()))


def test_splitting_shows_by_other_extents():
    assert steps(padding(), update(loops(4, 8, 4, 26, 26, 1, 3, 3))).reorganize


def test_a_base_that_is_made_up_makes_no_step_of_a_plain_nest():
    forged = convolution(padding(), update(loops(128, 26, 26, 1, 3, 3)))
    assert not steps(padding(), update(), base=forged).reorganize


def test_reordering_shows_by_the_order_of_the_extents():
    assert steps(padding(), update(loops(4, 26, 26, 32, 1, 3, 3))).reorganize


def test_an_order_that_was_written_so_from_the_beginning_is_no_step():
    nest = loops(4, 26, 26, 32, 1, 3, 3)
    assert not steps(padding(), update(nest), base=convolution(padding(), update(nest))).reorganize


def test_decomposing_shows_by_an_initialising_block_of_its_own():
    assert steps(padding(), init(), update(has_init=False)).decompose


def test_a_reduction_that_was_never_initialised_is_not_decomposed():
    assert not steps(padding(), update(has_init=False)).decompose


def test_an_annotated_loop_of_the_initialisation_counts():
    annotated = init(loops(4, 32, 26, 26, kind="vectorized"))
    assert steps(padding(), annotated, update(has_init=False)).annotate


def test_an_annotated_loop_of_another_block_does_not_count():
    other = padding().__class__(
        "pad", "SSSS", False, loops(4, 1, 28, 28, kind="parallel"), ("x",), ("pad",), is_copy=True
    )
    assert not steps(other, update()).annotate


def test_a_function_that_does_not_read_the_weight_shows_no_step():
    assert Steps(False, False, False, False) == steps(padding())
