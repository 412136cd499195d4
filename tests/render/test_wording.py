"""Numbers and foreign text as a person reads them."""

from __future__ import annotations

import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.render import wording
from grader.render.speech import speaking


class TestPoints:
    """Points have no digits that say nothing."""

    @pytest.mark.parametrize(
        ("value", "text"),
        [
            (40.0, "40"),
            (37.5, "37.5"),
            (0.0, "0"),
            (-0.0, "0"),
            (100 / 3, "33.33"),
            (100.0, "100"),
            (0.1 + 0.2, "0.3"),
            (-0.001, "0"),
        ],
    )
    def test_trailing_zeros_are_left_out(self, value: float, text: str) -> None:
        assert wording.points(value) == text

    def test_a_score_stands_beside_what_can_be_reached(self) -> None:
        assert wording.points_of(37.5, 40.0) == "37.5 of 40"


class TestNumbers:
    """Counts, times and ratios."""

    @pytest.mark.parametrize(
        ("value", "text"),
        [
            (0.0, "0.00 s"),
            (0.42, "0.42 s"),
            (12.34, "12.3 s"),
            (59.94, "59.9 s"),
            (59.96, "1 min 0 s"),
            (125.2, "2 min 5 s"),
        ],
    )
    def test_seconds_become_minutes_when_there_are_enough(self, value: float, text: str) -> None:
        assert wording.seconds(value) == text

    @pytest.mark.parametrize(
        ("language", "said"),
        [("zh", ["0.42 秒", "12.3 秒", "2 分 5 秒"]), ("ko", ["0.42초", "12.3초", "2분 5초"])],
    )
    def test_seconds_are_said_in_the_language_that_is_spoken(
        self, language: str, said: list[str]
    ) -> None:
        with speaking(language):
            assert said == [wording.seconds(each) for each in (0.42, 12.34, 125.2)]

    @pytest.mark.parametrize(
        ("value", "text"),
        [
            (0.85123, "0.8512 µs"),
            (8.5123, "8.512 µs"),
            (85.123, "85.12 µs"),
            (412.25, "412.2 µs"),
            (1283.4, "1,283 µs"),
            (1283400.0, "1,283,400 µs"),
        ],
    )
    def test_microseconds_have_about_four_digits(self, value: float, text: str) -> None:
        assert wording.microseconds(value) == text

    def test_a_ratio_has_two_decimals(self) -> None:
        assert wording.factor(3.113) == "3.11"


class TestPlain:
    """Foreign text can say anything and do nothing."""

    @pytest.mark.parametrize(
        ("hostile", "harmless"),
        [
            ("\x1b[31mred\x1b[0m", "red"),
            ("\x9b31mred", "red"),
            ("\x1b[2J\x1b[1;1Hhome", "home"),
            ("\x1b]0;title\x07text", "text"),
            ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
            ("\x1bPq#0\x1b\\sixel", "sixel"),
            ("\x1bcreset", "reset"),
            ("\x1b(0lines", "lines"),
            ("a\x00b\x07c\x08d\x7fe", "abcde"),
            ("\u202egnp.exe", "gnp.exe"),
            ("\u2066a\u2069\ufeffb", "ab"),
            ("half \ud800", "half \ufffd"),
            ("none \uffff\U0001fffe\ufdd0", "none \ufffd\ufffd\ufffd"),
            ("over\rwrite\r\nnext\x85row\u2028end", "over\nwrite\nnext\nrow\nend"),
            ("a\tb", "a   b"),
            ("lone escape \x1b", "lone escape"),
            ("[bold]as it is[/bold] :smile:", "[bold]as it is[/bold] :smile:"),
            ("합성곱 卷积 naïve é", "합성곱 卷积 naïve é"),
        ],
        ids=ascii,
    )
    def test_what_would_steer_a_terminal_is_taken_out(self, hostile: str, harmless: str) -> None:
        assert wording.plain(hostile) == harmless

    @given(st.text(st.characters(), max_size=300))
    def test_nothing_but_printable_characters_and_newlines_is_left(self, text: str) -> None:
        categories = {unicodedata.category(each) for each in wording.plain(text) if each != "\n"}
        assert categories.isdisjoint({"Cc", "Cs", "Zl", "Zp"})
        assert "\u202e" not in wording.plain(text)

    def test_a_long_text_is_cut_and_says_so(self) -> None:
        assert wording.plain("x" * 5000) == "x" * 4000 + " …"
        assert wording.plain("abcdef", characters=3) == "abc …"
        assert wording.plain("abc", characters=3) == "abc"

    def test_many_lines_are_cut_and_say_so(self) -> None:
        assert wording.plain("a\nb\nc", lines=2) == "a\nb\n…"
        assert wording.plain("a\nb", lines=2) == "a\nb"

    def test_a_huge_hostile_text_takes_no_time(self) -> None:
        start = time.process_time()
        for opening in ("\x1b]", "\x1b[", "\x1b[0;", "\x9d", "\x1b "):
            wording.plain(opening * 5_000_000)
        assert time.process_time() - start < 10  # it takes 0.05 s, and hours in square time

    def test_one_line_has_no_line_ends(self) -> None:
        assert wording.one_line(" a\n\n b\tc \r\n") == "a b c"


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
    assert pieces == wording.spans(text)


def test_a_text_of_backquotes_has_few_pieces() -> None:
    assert 2 * wording.MOST_SPANS + 1 >= len(wording.spans("`a`" * 1000))
