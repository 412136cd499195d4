"""Changes by places in a text."""

from __future__ import annotations

import random

import pytest

from grader.dialects.statement import Edit, Offsets, apply, without_overlaps

SOURCE = "one\ntwo\nthree"


@pytest.mark.parametrize(
    ("edits", "text", "lines"),
    [
        ([], SOURCE, (1, 2, 3)),
        ([Edit(0, 3, 0, "1", "r")], "1\ntwo\nthree", (1, 2, 3)),
        ([Edit(4, 4, 0, "new\n", "r")], "one\nnew\ntwo\nthree", (1, 2, 2, 3)),
        ([Edit(4, 8, 0, "", "r")], "one\nthree", (1, 3)),
        ([Edit(2, 9, 0, "\n\n", "r")], "on\n\nhree", (1, 2, 3)),
        ([Edit(3, 8, 0, " ", "r")], "one three", (1,)),
        ([Edit(13, 13, 0, "!\n", "r")], "one\ntwo\nthree!\n", (1, 2, 3, 3)),
        ([Edit(0, 13, 0, "", "r")], "", (1,)),
    ],
)
def test_the_text_and_where_its_lines_come_from(
    edits: list[Edit], text: str, lines: tuple[int, ...]
) -> None:
    assert (text, lines) == apply(SOURCE, edits)


def test_an_empty_text_has_one_line() -> None:
    assert ("", (1,)) == apply("", [])


def test_of_overlapping_edits_the_first_one_stays() -> None:
    outer, inner, later = Edit(1, 5, 0, "", "a"), Edit(2, 3, 1, "x", "b"), Edit(5, 6, 2, "", "c")
    assert [outer, later] == without_overlaps([later, inner, outer])


def test_insertions_at_one_place_stand_in_their_order() -> None:
    edits = [Edit(1, 1, 1, "b", "r"), Edit(1, 1, 0, "a", "r"), Edit(1, 2, 2, "c", "r")]
    assert "oabc" == apply("on", without_overlaps(edits))[0]


def test_every_kept_character_is_on_the_line_that_it_came_from() -> None:
    chance = random.Random(7)
    source = "".join(chance.choice("abc\n") for _ in range(300))
    for _ in range(100):
        places = sorted(chance.sample(range(300), 8))
        edits = [
            Edit(start, end, 0, chance.choice(["", "X", "X\n"]), "r")
            for start, end in zip(places[::2], places[1::2], strict=True)
        ]
        text, lines = apply(source, edits)
        assert len(lines) == text.count("\n") + 1
        offsets = Offsets(source)
        end = shift = 0
        for edit in edits:
            for place in range(end, edit.start):
                if place == 0 or text[place + shift - 1] == "\n":
                    assert offsets.line(place) == lines[text.count("\n", 0, place + shift)]
            end, shift = edit.end, shift + len(edit.text) - (edit.end - edit.start)
