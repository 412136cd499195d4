"""Reports in the languages that students read: of the option, else of the notebook."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from grader.course import load_course
from grader.language import speaking
from grader.pipeline import grade
from grader.preparation import Preparation, Settings
from grader.progress import Silent
from grader.report import Report
from grader.sandbox.choose import choose_sandbox
from grader.submission import read_submission
from tests import sample_reports
from tests.cli.test_batch import FAILING, RIGHT, WRONG
from tests.endtoend.command import ROOT, Result, run_grader, without_times, write_notebook
from tests.render.pages import page

COURSE = ROOT / "tests" / "courses" / "small"
SCRIPTS = {"zh": re.compile("[\u4e00-\u9fff]"), "ko": re.compile("[\uac00-\ud7a3]")}
LABELS = ("Part ", "Points", "What to do", "Graded:", "How it was graded", "Seed", "Duration")


def grade_in(
    folder: Path, sources: tuple[str, ...], *options: str, language: str | None = None
) -> Result:
    """Grade a notebook of the small course, which may declare a language."""
    declared = {"assignment": "small", "version": 1}
    if language is not None:
        declared["language"] = language
    notebook = write_notebook(folder / "hw.ipynb", *sources, grader=declared)
    return run_grader(folder, notebook, "--course", COURSE, "--seed", "7", *options)


def told(report: Report) -> Iterator[str]:
    """Return every text about the submission that is not the assignment's or the student's own."""
    yield report.data.detail
    for part in report.parts:
        for check in part.checks:
            yield from filter(None, (check.title, check.reason, check.hint))


@pytest.mark.parametrize(
    ("language", "sources", "declared"),
    [("zh", RIGHT, None), ("zh", WRONG, None), ("ko", WRONG, "zh"), ("ko", FAILING, None)],
)
def test_a_report_is_in_the_language_of_the_option_first(
    tmp_path: Path, language: str, sources: tuple[str, ...], declared: str | None
) -> None:
    result = grade_in(tmp_path, sources, "--lang", language, language=declared)
    assert (0, language) == (result.code, result.report.language)
    assert [] == [text for text in told(result.report) if not SCRIPTS[language].search(text)]
    assert [] == [label for label in LABELS if label in result.output]
    assert "{" not in result.output


def test_a_notebook_decides_where_there_is_no_option(tmp_path: Path) -> None:
    report = grade_in(tmp_path, WRONG, language="zh").report
    assert "zh" == report.language
    assert [] == [text for text in told(report) if not SCRIPTS["zh"].search(text)]


def test_a_notebook_in_another_language_is_told_in_english(tmp_path: Path) -> None:
    chosen, english = (
        grade_in(tmp_path, WRONG, language="xx"),
        grade_in(tmp_path, WRONG, "--lang", "en"),
    )
    assert "What to do: " in chosen.output
    ours, theirs = without_times(chosen.report), without_times(english.report)
    for each in (ours, theirs):
        each.pop("submission")  # the digest of the file, which tells its language
    assert theirs == ours


def test_a_damaged_notebook_is_told_of_in_the_language_of_the_option(tmp_path: Path) -> None:
    (tmp_path / "hw.ipynb").write_text("no notebook")
    result = run_grader(
        tmp_path, "hw.ipynb", "--course", COURSE, "--assignment", "small", "--lang", "zh"
    )
    assert "文件不是 notebook：它不是 JSON。" == result.report.parts[0].checks[0].reason


def test_gradings_that_share_data_each_speak_their_own_language(tmp_path: Path) -> None:
    """The data and the sandbox are described before it is known who will read it."""
    said = {}
    with choose_sandbox() as sandbox:
        prepared = Preparation(load_course(COURSE).get("small"), Settings(sandbox, seed=7))
        for language in ("zh", "en", "ko"):
            declared = {"assignment": "small", "version": 1, "language": language}
            path = write_notebook(tmp_path / f"{language}.ipynb", *FAILING, grader=declared)
            report = grade(read_submission(path), prepared, Silent())
            said[language] = report.data.detail
            assert (language == "en") == report.sandbox.detail.isascii()
    assert said == {
        "en": "The assignment needs no test images.",
        "ko": "이 과제에는 테스트 이미지가 필요 없습니다.",
        "zh": "这份作业不需要测试图片。",
    }


class TestPage:
    """A report on a terminal is in its own language, whoever shows it."""

    @pytest.mark.parametrize("language", ["zh", "ko"])
    @pytest.mark.parametrize("width", [40, 80, 100])
    def test_every_label_is_translated(self, language: str, width: int) -> None:
        report = msgspec.structs.replace(sample_reports.typical(), language=language)
        text = page(report, width)
        labels = (
            *LABELS,
            "Speed of your",
            "unscheduled",
            "Measured with",
            "Limit",
            "One call",
            "Code cell",
        )
        assert [] == [label for label in labels if label in text]

    def test_whoever_shows_it_speaks_another_language(self) -> None:
        with speaking("zh"):
            assert "What to do: " in page(sample_reports.typical())
