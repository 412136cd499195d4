"""Differences between two functions: nothing is lost, what is the same is folded."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from grader.render.html.text import CONTEXT, MOST_LINES, TextBlock, compare

LINES = st.lists(st.sampled_from("abcd"), max_size=40).map("\n".join)


def only(blocks: tuple[TextBlock, ...], *kinds: str) -> str:
    return "\n".join(line for block in blocks if block.kind in kinds for line in block.lines)


@given(LINES, LINES)
def test_both_texts_can_be_read_from_it(before: str, after: str) -> None:
    blocks = compare(before, after)
    assert before == only(blocks, "same", "folded", "gone")
    assert after == only(blocks, "same", "folded", "new")


def test_lines_far_from_a_change_are_folded() -> None:
    same = [f"line {number}" for number in range(20)]
    blocks = compare("\n".join([*same, "old"]), "\n".join([*same, "new"]))
    assert ["folded", "same", "gone", "new"] == [block.kind for block in blocks]
    assert [20 - CONTEXT, CONTEXT, 1, 1] == [len(block.lines) for block in blocks]


def test_between_two_changes_the_context_of_both_is_shown() -> None:
    same = [f"line {number}" for number in range(20)]
    blocks = compare("\n".join(["a", *same, "b"]), "\n".join(["c", *same, "d"]))
    kinds = ["gone", "new", "same", "folded", "same", "gone", "new"]
    assert kinds == [block.kind for block in blocks]


def test_a_single_line_is_not_folded() -> None:
    same = [f"line {number}" for number in range(CONTEXT + 1)]
    blocks = compare("\n".join([*same, "old"]), "\n".join([*same, "new"]))
    assert ["same", "gone", "new"] == [block.kind for block in blocks]


def test_numbers_lose_their_types_and_indents_are_halved() -> None:
    (block,) = compare("", "    for i in range(T.int64(16)): x = T.int64(n)")[1:]
    assert ("  for i in range(16): x = T.int64(n)",) == block.lines


def test_a_type_that_alone_changed_is_no_difference() -> None:
    assert ["folded"] == [block.kind for block in compare("T.int64(4)\n" * 4, "4\n" * 4)]


def test_long_texts_are_cut() -> None:
    blocks = compare("", "x\n" * 10_000)
    assert MOST_LINES == sum(len(block.lines) for block in blocks if block.kind == "new")
