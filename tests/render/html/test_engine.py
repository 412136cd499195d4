"""Code in sentences."""

from __future__ import annotations

import pytest

from grader.render.html.page import MOST_SPANS, spans


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("plain", [(False, "plain")]),
        ("a `b` c", [(False, "a "), (True, "b"), (False, " c")]),
        ("`b`", [(True, "b")]),
        ("a ` b", [(False, "a ` b")]),
        ("``", [(False, "``")]),
        ("`a\nb`", [(False, "`a\nb`")]),
        ("", []),
    ],
)
def test_what_stands_between_backquotes_is_code(text: str, pieces: list[tuple[bool, str]]) -> None:
    assert pieces == spans(text)


def test_a_text_of_backquotes_has_few_pieces() -> None:
    assert 2 * MOST_SPANS + 1 >= len(spans("`a`" * 1000))
