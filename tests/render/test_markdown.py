"""The report in Markdown: everything is there, and foreign text stays text."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec
import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from grader.language import LANGUAGES, foreign
from grader.render.markdown import block, code, lines, render_markdown, text
from grader.render.wording import MOST_PROBLEMS, one_line, plain, spans
from grader.report import CellProblem, Diagnosis, Report, Step
from tests import sample_reports
from tests.render.diagnoses import three_mistakes
from tests.render.foreign import CONTROLS, HARMFUL, everywhere, with_cells

PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
OWN = {
    "heading_open", "heading_close", "paragraph_open", "paragraph_close", "inline", "text",
    "softbreak", "hardbreak", "bullet_list_open", "bullet_list_close", "list_item_open",
    "list_item_close", "strong_open", "strong_close", "code_inline", "fence",
}  # fmt: skip
"""What the renderer writes itself: no HTML, link, image, table, quote, rule or numbered list."""


def tokens(markdown: str) -> Iterator[Token]:
    """Yield everything that a parser finds."""
    for token in PARSER.parse(markdown):
        yield token
        yield from token.children or ()


def shape(markdown: str) -> list[str]:
    """Return what a page is made of, without its texts and breaks of lines."""
    return [token.type for token in tokens(markdown) if token.type not in {"text", "hardbreak"}]


def rendered(report: Report) -> str:
    return render_markdown(report).decode()


class TestContent:
    """What the report says."""

    def test_it_opens_with_assignment_submission_and_score(self) -> None:
        top = rendered(sample_reports.typical()).split("\n##")[0]
        assert top.startswith("# A convolutional classifier, end to end: `homework.ipynb`\n")
        assert "**77.5 of 100 points**" in top
        assert "15 of 17 code cells ran to the end." in top
        assert "- The convolution, scheduled: 22.5 of 30" in top

    def test_what_comes_first_is_a_list_before_the_parts_and_not_said_again(self) -> None:
        said = rendered(three_mistakes())
        top = said[said.index("## Fix this first") :].split("\n##")[0].splitlines()
        assert "1. **Part 1**: Mistake 1. (worth up to 9 points)" == top[2]
        assert 3 == sum(line[:1].isdigit() for line in top)
        assert [1, 1, 1] == [said.count(f"Mistake {n}.") for n in (1, 2, 3)]

    def test_a_lost_point_has_its_reason_and_its_next_step(self) -> None:
        assert (
            "- ✗ Same outputs as PyTorch (0 of 15)\n\n"
            "  On 4,443 of 4,443 test images the output differs from PyTorch."
        ) in rendered(sample_reports.typical())
        assert "\n\n  **What to do:** Add the bias" in rendered(sample_reports.typical())

    def test_a_check_that_passed_takes_one_line(self) -> None:
        page = rendered(sample_reports.typical())
        assert "Seven calls" not in page
        assert "- ✓ Built of call\\_tir (10 of 10)\n- ✓ Same outputs" in page

    def test_neighbours_that_share_a_reason_share_its_text(self) -> None:
        page = rendered(sample_reports.nothing_to_grade())
        assert 1 == page.count("defines no create\\_model\\_via\\_emit\\_te")

    def test_a_failed_cell_has_its_place_its_error_and_its_message(self) -> None:
        page = rendered(sample_reports.typical())
        assert (
            "- Code cell 7, line 3: `NameError`\n\n"
            "  ```text\n  name 'conv_w' is not defined\n  ```\n"
        ) in page

    def test_a_notebook_of_failed_cells_is_told_in_part(self) -> None:
        problems = tuple(CellProblem(number, "E", "m") for number in range(1, MOST_PROBLEMS + 4))
        page = rendered(msgspec.structs.replace(sample_reports.typical(), problems=problems))
        assert f"Code cell {MOST_PROBLEMS}:" in page
        assert f"Code cell {MOST_PROBLEMS + 1}:" not in page
        assert "- and 3 more\n" in page

    def test_a_diagnosis_has_its_sentence_its_advice_and_its_link(self) -> None:
        page = rendered(with_diagnosis("https://example.org/course.html#conv-2"))
        assert (
            "It departs at lv.\n\n**What to do:** Add the bias.\n\n"
            "Step by step beside PyTorch:\n\n- ✗ `lv = conv2d` (1,)\n\n"
            "Read again: <https://example.org/course.html#conv-2>\n"
        ) in page

    def test_steps_are_a_list_of_their_own(self) -> None:
        report = with_diagnosis("")
        steps = tuple(Step(f"lv{each}", "f", (1,), "right", foreign("relu")) for each in range(20))
        diagnosis = msgspec.structs.replace(report.parts[0].diagnosis, steps=steps, wrong=10)
        part = msgspec.structs.replace(report.parts[0], diagnosis=diagnosis)
        page = rendered(msgspec.structs.replace(report, parts=(part,)))
        assert "- ✓ `lv2 = f` (1,): PyTorch relu\n" in page
        assert "- 2 more steps\n- ✓ `lv2 = f`" in page
        assert "`lv14 = f` (1,): PyTorch relu\n- 5 more steps\n" in page
        assert ["lv2 ", "lv14 "] == [
            each for each in ("lv1 ", "lv2 ", "lv14 ", "lv15 ") if each in page
        ]
        lists = ("checks", "steps", "cells that failed", "how it was graded")
        assert len(lists) == shape(page).count("bullet_list_open")

    def test_a_diagnosis_that_a_reason_tells_is_not_told_again(self) -> None:
        report = with_diagnosis("")
        check = msgspec.structs.replace(
            report.parts[0].checks[2], reason=foreign("So: It departs at lv."), tells_diagnosis=True
        )
        part = msgspec.structs.replace(report.parts[0], checks=(check,))
        assert 1 == rendered(msgspec.structs.replace(report, parts=(part,))).count("departs at lv")

    def test_a_heading_of_the_notebook_is_named(self) -> None:
        page = rendered(with_diagnosis("2. The *convolution*"))
        assert 'Read again in the notebook: "2. The \\*convolution\\*"\n' in page

    def test_a_link_that_is_no_address_is_text(self) -> None:
        for link in ("javascript:alert(1)", "https://a b", "https://a> <b>", "https://a\n"):
            assert "link_open" not in shape(rendered(with_diagnosis(link)))

    def test_a_script_is_told_by_lines_of_the_file(self) -> None:
        report = with_cells()
        starts = tuple(range(10, 180, 10))
        submission = msgspec.structs.replace(report.submission, name="hw.py", starts=starts)
        page = rendered(msgspec.structs.replace(report, submission=submission))
        assert "built in code cell 14, which begins on line 140" in page
        assert "- Line 3: `NameError`" in page

    def test_the_speed_has_its_interval(self) -> None:
        page = rendered(sample_reports.typical())
        assert "3.11 times as fast as the unscheduled one (95% confidence interval 3.04" in page

    def test_nothing_stands_for_what_is_not_there(self) -> None:
        page = rendered(sample_reports.full_marks())
        assert "Failed cells" not in page and "What to do" not in page

    @pytest.mark.parametrize("language", LANGUAGES)
    def test_it_speaks_the_reports_language(self, language: str) -> None:
        report = msgspec.structs.replace(sample_reports.typical(), language=language)
        said = {"en": "How it was graded", "zh": "评分环境", "ko": "채점 환경"}[language]
        assert f"\n## {said}\n" in rendered(report)


def with_diagnosis(link: str) -> Report:
    report = sample_reports.typical()
    steps = (Step("lv", "conv2d", (1,), "wrong"),)
    diagnosis = Diagnosis(
        steps,
        0,
        foreign(""),
        None,
        "",
        foreign("It departs at lv."),
        foreign("Add the bias."),
        foreign(link),
    )
    part = msgspec.structs.replace(report.parts[1], diagnosis=diagnosis)
    return msgspec.structs.replace(report, parts=(part,))


class TestForeignText:
    """Whatever a student writes is text."""

    def test_a_page_is_made_of_what_the_renderer_writes(self, subtests: pytest.Subtests) -> None:
        for harm in HARMFUL:
            for language in LANGUAGES:
                with subtests.test(language, harm=harm):
                    assert set(shape(rendered(everywhere(harm, language)))) <= OWN

    @pytest.mark.parametrize(
        ("words", "markdown"),
        [
            ("Give it `lv1`.", "Give it `lv1`."),
            ("`a*b` is *it*", "`a*b` is \\*it\\*"),
            ("`a``b`", "`a`\u200b`b`"),
            ("`x`` @everyone", "`x`\\` @\u200beveryone"),
            ("no ` code", "no \\` code"),
        ],
    )
    def test_code_in_a_sentence_is_code_and_ends_where_it_began(
        self, words: str, markdown: str
    ) -> None:
        assert [markdown, markdown] == [text(words), lines(words)]

    def test_code_is_what_the_page_has_as_code(self, subtests: pytest.Subtests) -> None:
        for harm in HARMFUL:
            with subtests.test(harm=harm):
                found = [each.content for each in tokens(text(harm)) if each.type == "code_inline"]
                pieces = [piece for is_code, piece in spans(one_line(harm)) if is_code]
                assert [each.strip() for each in pieces] == [each.strip() for each in found]

    def test_a_page_has_the_shape_that_it_has_with_harmless_text(
        self, subtests: pytest.Subtests
    ) -> None:
        """Nothing closes a block, begins another, or is lost; lines are as many as there were."""
        for harm in HARMFUL:
            with subtests.test(harm=harm):
                harmless = "\n".join("word" for row in plain(harm).split("\n") if row.strip())
                shapes = [
                    [each for each in shape(rendered(everywhere(words))) if each != "code_inline"]
                    for words in (harmless, harm)
                ]
                assert shapes[0] == shapes[1]

    def test_what_is_read_is_what_was_written(self, subtests: pytest.Subtests) -> None:
        """Of code in a sentence without the backquotes around it, and the spaces beside them."""
        for harm in HARMFUL:
            with subtests.test(harm=harm):
                assert squeezed(without_quotes(one_line(harm))) == squeezed(read(text(harm)))
                rows = "\n".join(map(without_quotes, plain(harm).split("\n")))
                assert squeezed(rows) == squeezed(read(lines(harm)))
                assert one_line(harm) == read(code(harm)).strip()
                assert plain(harm, 800, 12) + "\n" == read(block(plain(harm, 800, 12)))

    def test_nothing_is_there_that_github_makes_a_link_of(self, subtests: pytest.Subtests) -> None:
        for harm in HARMFUL:
            with subtests.test(harm=harm):
                for markdown in map(without_code, (text(harm), lines(harm))):
                    assert not re.search(r"://|www\.|@\w|#\w|GH-\d|:\w+:", markdown, re.IGNORECASE)
                    assert not re.search(r"(?<!\\)\$", markdown)  # mathematics

    def test_no_control_character_is_left(self) -> None:
        page = rendered(everywhere("a" + CONTROLS))
        assert not set(page) & set(CONTROLS) - {"\n"}

    def test_text_of_nothing_leaves_a_mark(self) -> None:
        """So that stars around it are no rule across the page."""
        assert ["–", "–", "–"] == [text("\x00"), lines(" \n "), code("")]


def without_code(markdown: str) -> str:
    """Return what is left of Markdown without its code, in which GitHub makes no links."""
    return re.sub(r"(?<![`\\])`[^`\n]+`(?!`)", "", markdown)


def without_quotes(row: str) -> str:
    """Return a line as it is read where what stands between backquotes is code."""
    return "".join(piece for _, piece in spans(row))


def squeezed(words: str) -> str:
    return "".join(words.split())


def read(markdown: str) -> str:
    """Return what a reader sees of Markdown, without spaces that have no width."""
    parts = {"softbreak": "\n", "hardbreak": "\n"}
    seen = (
        parts.get(token.type, token.content) for token in tokens(markdown) if token.type != "inline"
    )
    return "".join(seen).replace("\u200b", "")
