"""Translations beside the text: which cell and which comment they belong to.

What must be the same in every language, read off a markdown text.
"""

from __future__ import annotations

import pytest

from grader.authoring.master import (
    Comment,
    Misplaced,
    comment_languages,
    cut_comments,
    find_passages,
    join_lines,
    localize_comments,
    master_languages,
    outline_of,
    read_master,
    scripts_in,
)
from tests.authoring.masters import TRANSLATED

LANGUAGES = ("en", "zh", "ko")
COMMENTED = """\
x = 1  # stays
# first
# second
# zh: 一
# zh: 二
# ko: 하나
# third
if x:
    # inside
    # zh: 里面
    pass"""


def master_of(tmp_path, text):
    path = tmp_path / "task.py"
    path.write_text(text, encoding="utf-8")
    return read_master(path)


class TestCells:
    def test_a_translation_belongs_to_the_text_before_it(self, tmp_path):
        passages, misplaced = find_passages(master_of(tmp_path, TRANSLATED))
        assert () == misplaced
        assert [["zh", "ko"], [], []] == [list(each.translations) for each in passages]
        assert [1, 4, 5] == [each.number for each in passages]

    def test_the_language_decides_the_text_and_english_fills_in(self, tmp_path):
        passages, _ = find_passages(master_of(tmp_path, TRANSLATED))
        assert passages[0].text("ko", LANGUAGES).startswith("# 과제")
        assert passages[0].text("de", LANGUAGES).startswith("# A task")
        assert "Only for instructors." == passages[1].text("zh", LANGUAGES)

    def test_chinese_is_written_without_spaces_where_lines_break(self, tmp_path):
        text = "# %% [markdown]\n# a\n# b\n"
        text += '# %% [markdown] lang="zh"\n# 甲\n# 乙\n# %% [markdown] lang="ko"\n# 가\n# 나'
        (passage,), _ = find_passages(master_of(tmp_path, text))
        expected = ["a\nb", "甲乙", "가\n나"]
        assert expected == [passage.text(each, LANGUAGES) for each in LANGUAGES]

    def test_languages_come_in_the_order_of_the_master(self, tmp_path):
        text = (
            '# %% [markdown]\n# a\n# %% [markdown] lang="ko"\n# b\n# %% [markdown] lang="de"\n# c'
        )
        master = master_of(tmp_path, text)
        assert ("en", "ko", "de") == master_languages(master)
        assert ("en", "zh", "ko", "de") == comment_languages(master)

    @pytest.mark.parametrize(
        ("text", "problem"),
        [
            ('# %% [markdown] lang="zh"\n# b', "no text cell before it"),
            ('# %%\nx = 1\n# %% [markdown] lang="zh"\n# b', "no text cell before it"),
            (
                '# %% [markdown]\n# a\n# %% [markdown] lang="zh"\n# b\n'
                '# %% [markdown] lang="zh"\n# c',
                "second translation",
            ),
            ('# %% [markdown]\n# a\n# %% [markdown] lang="en"\n# b', "marked as English"),
            (
                '# %% [markdown]\n# a\n# %% [markdown] lang="../x"\n# b',
                "not the code of a language",
            ),
            ("# %% [markdown]\n# a\n# %% [markdown] lang=3\n# b", "not the code of a language"),
            ('# %% [markdown]\n# a\n# %% lang="zh"\nx = 1', "is code in one language"),
        ],
    )
    def test_a_translation_that_fits_nowhere_is_told(self, tmp_path, text, problem):
        master = master_of(tmp_path, text)
        _, (misplaced,) = find_passages(master)
        assert problem in misplaced.problem.english
        assert len(master.cells) == misplaced.number


class TestComments:
    def test_a_translation_takes_the_place_of_all_lines_of_the_comment(self):
        expected = "x = 1  # stays\n# 一\n# 二\n# third\nif x:\n    # 里面\n    pass"
        assert expected == localize_comments(COMMENTED, "zh", LANGUAGES)

    def test_a_comment_without_one_stays_english(self):
        expected = "x = 1  # stays\n# 하나\n# third\nif x:\n    # inside\n    pass"
        assert expected == localize_comments(COMMENTED, "ko", LANGUAGES)

    def test_english_has_none_of_the_translations(self):
        expected = "x = 1  # stays\n# first\n# second\n# third\nif x:\n    # inside\n    pass"
        assert expected == localize_comments(COMMENTED, "en", LANGUAGES)

    def test_code_without_translations_is_left_as_it_is(self):
        source = "# note: of: colons\n\n\n# a\nx = '# zh'  \n# http://example.org\n"
        for language in LANGUAGES:
            assert source == localize_comments(source, language, LANGUAGES)

    def test_a_mark_is_not_a_comment_to_be_translated(self):
        source = "### END SOLUTION\n# zh: 一"
        assert isinstance(cut_comments(source, LANGUAGES)[1], Misplaced)

    @pytest.mark.parametrize("above", ["x = 1", "", "    # deeper"])
    def test_a_translation_of_nothing_is_told_with_its_line(self, above):
        found = cut_comments(f"# far away\n{above}\n# zh: 一", LANGUAGES)[-1]
        assert isinstance(found, Misplaced)
        assert 2 == found.line

    def test_a_comment_knows_where_it_begins(self):
        found = [each for each in cut_comments(COMMENTED, LANGUAGES) if isinstance(each, Comment)]
        assert [1, 6, 8] == [each.line for each in found]


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
