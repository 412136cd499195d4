"""What must be the same in every language, read off a markdown text."""

from __future__ import annotations

import pytest

from grader.authoring.translation import join_lines, outline_of, scripts_in

TEXT = """\
# One

See `relax.Var`, [a link](https://example.org/a) and ![a picture](b.png).

### Three

```python
# not a heading, `not a span`
```

| a | `cell` |
|---|---|
| b | c |
"""


def test_an_outline_has_headings_code_and_links():
    outline = outline_of(TEXT)
    assert (1, 3) == outline.headings
    assert {"relax.Var", "cell"} == outline.spans
    assert {"https://example.org/a", "b.png"} == outline.targets
    assert (1, 2, 0) == (outline.fences, outline.rows, outline.items)


def test_words_are_what_is_left_to_translate():
    assert outline_of("## `main`").has_words is False
    assert outline_of("```python\nx = 1\n```\n\n$ 3 * 4 $").has_words is False
    assert outline_of("## 模型").has_words is True


def test_numbers_are_those_of_the_text_and_not_of_the_code():
    outline = outline_of("1. first, 30 points\n2. `x = 4`, version 0.27, 33 million\n")
    assert ({"30", "0.27"}, 2) == (outline.numbers, outline.items)
    assert {"30"} == outline_of("共30分").numbers


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("甲乙\n丙丁，\n戊", "甲乙丙丁，戊"),
        ("* 甲\n  乙\n* 丙", "* 甲乙\n* 丙"),
        ("甲\n\n乙", "甲\n\n乙"),
        ("## 甲\n乙", "## 甲\n乙"),
        ("甲\nloop\n乙", "甲\nloop\n乙"),
        ("甲：\n```\n乙\n丙\n```\n丁\n戊", "甲：\n```\n乙\n丙\n```\n丁戊"),
        ("| 甲 |\n|---|\n| 乙 |", "| 甲 |\n|---|\n| 乙 |"),
        ("**甲**\n`乙`", "**甲**\n`乙`"),
    ],
)
def test_lines_are_joined_where_no_space_belongs(text, expected):
    assert expected == join_lines(text)


def test_bold_text_that_is_not_rendered_keeps_its_stars():
    assert "**" in outline_of("**注意：**请").words
    assert "**" not in outline_of("**注意**：请").words


def test_languages_are_told_by_their_script():
    assert frozenset() == scripts_in("plain text, naïve, 3 × 4")
    assert {"zh"} == scripts_in("循环 loop")
    assert {"zh", "ko"} == scripts_in("循环 루프")
