"""What is on the page, and that it holds together by itself.

Code in sentences.

Pieces of a page within its size.
"""

from __future__ import annotations

import itertools
import re

import pytest
from markupsafe import Markup
from msgspec.structs import replace

from grader.language import foreign
from grader.render.final_grade import FinalGrade
from grader.render.findings import first_causes
from grader.render.html import render_html
from grader.render.html.page import PageBudget
from grader.report import AssignmentId, Report, ungraded_report
from tests import sample_reports
from tests.render.html.filled import Filler
from tests.render.html.reading import flat, read
from tests.render.html.samples import everything

REPORTS = {
    "everything": everything(),
    "typical": sample_reports.typical(),
    "full marks": sample_reports.full_marks(),
    "nothing to grade": sample_reports.nothing_to_grade(),
    "ungraded": ungraded_report(
        "a.ipynb", foreign("The file is empty."), sample_reports.typical().environment
    ),
    "hostile": sample_reports.hostile(),
    "wide characters": sample_reports.korean_and_chinese(),
    "filled": Filler(lambda _: "x").report(),
    "empty": Filler(lambda _: "", lambda _: 0, 0).report(),
    "negative": Filler(lambda _: "x", lambda _: -1).report(),
    "not finite": Filler(lambda field: "x", lambda field: 10**300, 2).report(),
}


def page(report: Report) -> str:
    return flat(read(render_html(report)).text)


def wrong_and_missing() -> Report:
    """Return a report with a part of full marks, one that is wrong, and one that is missing."""
    first, second, third = sample_reports.typical().parts
    wrong = tuple(
        replace(each, code="values" if each.score < each.max_score else "passed")
        for each in second.checks
    )
    missing = tuple(
        replace(each, score=0.0, verdict="not_graded", code="absent") for each in third.checks
    )
    parts = (first, replace(second, checks=wrong), replace(third, checks=missing, score=0.0))
    return replace(sample_reports.typical(), parts=parts, timing=None)


@pytest.fixture(params=REPORTS)
def document(request: pytest.FixtureRequest) -> bytes:
    return render_html(REPORTS[request.param])


class TestDocument:
    def test_it_is_well_formed(self, document: bytes) -> None:
        assert document.startswith(b"<!doctype html>")
        assert [] == read(document).unbalanced

    def test_it_refers_to_nothing_outside(self, document: bytes) -> None:
        """Links may be followed by who reads; nothing is loaded."""
        found = read(document)
        assert {"script", "link", "iframe", "object", "base", "form"}.isdisjoint(found.tags)
        assert all(source.startswith("data:image/png") for source in found.values("src"))
        style = document.decode().partition("<style>")[2].partition("</style>")[0]
        assert len(style) > 5000
        assert None is re.search(r"url\(|@import|//", style)

    def test_what_is_referred_to_is_there_and_only_once(self, document: bytes) -> None:
        found = read(document)
        names = found.values("id")
        assert len(set(names)) == len(names)
        inner = [link[1:] for link in found.values("href") if link.startswith("#")]
        inner += [name for value in found.values("aria-labelledby") for name in value.split()]
        assert set() == set(inner) - set(names)

    def test_headings_go_down_by_single_steps(self, document: bytes) -> None:
        levels = [int(tag[1]) for tag in read(document).tags if re.fullmatch("h[1-6]", tag)]
        assert 1 == levels[0]
        assert 1 == levels.count(1)
        assert all(after <= before + 1 for before, after in itertools.pairwise(levels))

    def test_it_allows_itself_nothing_but_its_own_style_and_images(self, document: bytes) -> None:
        policy = next(value for value in read(document).values("content") if "default-src" in value)
        assert policy.startswith("default-src 'none'; img-src data:; style-src 'sha256-")
        assert [] == read(document).values("style")


def page_with(final: FinalGrade, report: Report | None = None) -> str:
    """The text of a page of a report of which a gradebook has made a grade."""
    report = sample_reports.typical() if report is None else report
    return flat(read(render_html(report, final=final)).text)


class TestContent:
    def test_the_score_is_in_the_title_and_in_the_head(self) -> None:
        text = page(sample_reports.typical())
        assert text.startswith("77.5 of 100 points – homework.ipynb")
        assert "77.5 / 100" in text

    def test_whose_it_is_comes_first_where_that_is_known(self) -> None:
        html = render_html(sample_reports.typical(), "ada <b>").decode()
        title = "<title>ada &lt;b&gt; – 77.5 of 100 points – homework.ipynb – 2026-03-09</title>"
        assert title in html
        assert '<p class="file">ada &lt;b&gt; – homework.ipynb</p>' in html

    def test_which_attempt_it_is_comes_behind_whose_it_is(self) -> None:
        html = render_html(sample_reports.typical(), "Ada Lovelace", 2).decode()
        assert "<title>Ada Lovelace, attempt 2 – 77.5 of 100 points – homework.ipynb" in html
        assert '<p class="file">Ada Lovelace, attempt 2 – homework.ipynb</p>' in html

    def test_a_grade_is_the_one_score_and_the_reports_points_are_what_was_before(self) -> None:
        final = FinalGrade(67.5, 100.0, 0.0, (foreign("Late."), foreign("The grade: 67.5 of 100.")))
        html = render_html(sample_reports.typical(), "ada", 1, final)
        text = flat(read(html).text)
        assert text.startswith("ada, attempt 1 – 67.5 of 100 points – homework.ipynb")
        assert "67.5 / 100 67.5 of 100 points 77.5 of 100 before adjustments and lateness" in text
        assert 1 == text.count("77.5 ")
        assert "Your grade The grade: 67.5 of 100. How the grade is computed Late." in text

    def test_a_grade_that_is_the_reports_points_has_no_before(self) -> None:
        final = FinalGrade(77.5, 100.0, 0.0, (foreign("The grade: 77.5 of 100."),))
        assert "before" not in page_with(final)

    def test_points_to_be_marked_are_those_that_the_grade_still_lacks(self) -> None:
        report = sample_reports.typical()
        marked = replace(report.parts[0], open=10.0)
        report = replace(report, parts=(marked, *report.parts[1:]))
        for open, is_told in ((10.0, True), (0.0, False)):
            final = FinalGrade(77.5, 110.0 - open, open, (foreign("The grade."),))
            head = page_with(final, report).partition("Your grade")[0]
            assert is_told is ("10 not marked yet" in head)

    def test_a_grade_that_would_tell_what_is_kept_back_is_said_to_be_not_in_the_score(self) -> None:
        final = FinalGrade(67.5, 120.0, 0.0, (foreign("The grade: 67.5 of 120."),), is_told=False)
        text = page_with(final)
        assert "77.5 of 100 points before adjustments and lateness" in text
        assert "67.5" not in text
        assert "Your grade" not in text

    def test_what_to_mend_first_is_on_top_with_its_rule(self) -> None:
        text = page(wrong_and_missing())
        first, parts = text.index("Fix this first"), text.index("Parts Part Share Points")
        said = text[first:parts]
        assert said.startswith("Fix this first The convolution, done by an external function: On")
        assert "On 4,443 of 4,443" in said
        assert "(worth up to 15 points)" in said
        assert "Failed cells come first" in said

    def test_one_cause_alone_has_no_order_to_explain(self) -> None:
        report = wrong_and_missing()
        cause, *_ = first_causes(report)
        one = replace(report, parts=(report.parts[cause.part],))
        assert "Fix this first" in page(one) and "Failed cells come first" not in page(one)

    def test_a_file_that_could_not_be_graded_has_no_score(self) -> None:
        text = page(REPORTS["ungraded"])
        assert "a.ipynb Not graded" in text and "/ 0" not in text

    def test_what_is_on_top_is_not_said_again(self) -> None:
        text = page(wrong_and_missing())
        assert 1 == text.count("On 4,443 of 4,443 test images")
        assert "See 1 at the top. What to do: Add the bias" in text

    def test_with_full_marks_nothing_is_first(self) -> None:
        assert "Fix this first" not in page(sample_reports.full_marks())

    def test_what_is_missing_is_folded_with_its_points(self) -> None:
        found = read(render_html(wrong_and_missing()))
        assert [("details", "class", "missing")] == [
            each for each in found.attributes if each[:2] == ("details", "class")
        ]
        assert "nothing to grade yet 0 of 30" in flat(found.text)

    def test_what_is_missing_and_first_is_open(self) -> None:
        report = wrong_and_missing()
        alone = replace(report, parts=(report.parts[0], report.parts[2]))
        found = read(render_html(alone))
        assert "Fix this first" in found.text
        assert [] == [each for each in found.attributes if each[:2] == ("details", "class")]

    def test_every_check_is_there_with_verdict_points_reason_and_hint(self) -> None:
        report = sample_reports.typical()
        text = page(report)
        for part in report.parts:
            assert part.title.english in text
            for check in part.checks:
                assert f": {check.title.english}" in text
                assert check.reason.english in text
                assert check.hint.english in text
        assert "failed: Same outputs as PyTorch0 of 15" in text
        assert "partly passed: Speed of the convolution7.5 of 15" in text

    def test_neighbours_that_failed_for_one_reason_share_it(self) -> None:
        text = page(sample_reports.nothing_to_grade())
        assert 1 == text.count("defines no create_model_with_torch_func")

    def test_a_diagnosis_names_the_step_and_what_pytorch_has(self) -> None:
        text = page(everything())
        assert "first difference: lv2 = pool2d" in text
        assert "(4, 32, 25, 25) max_pool2d (4, 32, 13, 13)" in text
        assert "a stride of 2" in text
        assert "https://example.org/pooling" in read(render_html(everything())).values("href")

    def test_a_diagnosis_that_a_check_has_told_is_not_told_again(self) -> None:
        report = everything()
        first = report.parts[0]
        told = replace(
            first.checks[0],
            reason=first.diagnosis.message,
            score=0.0,
            verdict="failed",
            tells_diagnosis=True,
        )
        alone = replace(report, cells=(), parts=(replace(first, checks=(told,)),))
        assert 1 == page(alone).count("the shape is (4, 32, 25, 25)")

    def test_a_sample_shows_both_scores_of_every_class(self) -> None:
        text = page(everything())
        assert "1234 shows: dress. Your model says trouser, PyTorch dress" in text
        assert "dress the right class 0.2000 0.7500" in text
        assert "coat not finite 0.0300" in text

    def test_what_a_schedule_changed_is_there(self) -> None:
        text = page(everything())
        assert "− for i: pass" in text
        assert "+ for i_0: pass" in text

    def test_the_speed_is_told_with_interval_and_limits(self) -> None:
        text = page(everything())
        assert "3.11 times as fast" in text
        assert "95% confidence interval 3.04 to 3.19" in text
        assert "reference 198.7 µs 6.46 7.8 52%" in text

    def test_a_problem_leads_to_its_cell(self) -> None:
        found = read(render_html(everything()))
        assert "Code cell 2, line 3 NameError: name 'conv_w' is not defined" in flat(found.text)
        assert "#cell-2" in found.values("href")

    def test_code_between_backquotes_is_set_as_code(self) -> None:
        assert "<p>Code cell 1 uses <code>eval</code>.</p>" in render_html(everything()).decode()

    def test_circumstances_are_told(self) -> None:
        text = page(sample_reports.typical())
        for fact in ("Fashion-MNIST: 4,443 test images", "basic.", "Seed 42", "torch 2.13.0+cpu"):
            assert fact in text

    def test_a_seed_that_is_kept_back_is_not_told(self) -> None:
        assert "Seed" not in page(replace(sample_reports.typical(), seed=0))


class TestLanguage:
    @pytest.mark.parametrize(
        ("language", "declared"),
        [("en", "en"), ("zh", "zh"), ("ko", "ko"), ("xx", "en"), ('"', "en")],
    )
    def test_the_page_says_its_language(self, language: str, declared: str) -> None:
        found = read(render_html(replace(sample_reports.typical(), language=language)))
        assert [declared] == found.values("lang")

    def test_its_own_words_are_in_it(self) -> None:
        assert "채점 환경" in page(replace(sample_reports.typical(), language="ko"))

    def test_without_an_assignment_the_file_is_the_title(self) -> None:
        report = replace(sample_reports.typical(), assignment=AssignmentId("", foreign(""), 0))
        assert b"<h1>homework.ipynb</h1>" in render_html(report)


def of(size: int):
    return lambda: Markup("x" * size)


def test_the_first_form_that_fits_is_taken() -> None:
    budget = PageBudget(10)
    assert 4 == len(budget.fit(of(11), of(4), of(1)))
    assert 6 == budget.left


def test_what_does_not_fit_at_all_is_nothing() -> None:
    budget = PageBudget(3)
    assert Markup() == budget.fit(of(5), of(4))
    assert 3 == budget.left


def test_bytes_are_counted_and_not_characters() -> None:
    assert Markup() == PageBudget(5).fit(lambda: Markup("합합"))


def test_a_form_that_is_not_needed_is_not_made() -> None:
    def fail() -> Markup:
        raise AssertionError

    PageBudget(5).fit(of(5), fail)


def test_a_part_gives_back_what_it_did_not_use() -> None:
    whole = PageBudget(100)
    part = whole.part(60)
    part.fit(of(25))
    assert (40, 35) == (whole.left, part.left)
    whole.give_back(part)
    assert (75, 0) == (whole.left, part.left)


def test_a_part_is_never_more_than_there_is() -> None:
    assert 10 == PageBudget(10).part(60).left
