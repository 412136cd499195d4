"""Reports in the languages that students read: of the option, else of the notebook."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from grader.course import load_course
from grader.grading.pipeline import grade
from grader.grading.preparation import Preparation, Settings
from grader.progress import Silent
from grader.reading.submission import read_submission
from grader.render.speech import speaking
from grader.report import Report
from grader.sandbox.interface import Sandbox
from tests import sample_reports
from tests.cli.test_batch import FAILING, RIGHT, WRONG
from tests.endtoend.command import ROOT, run_grader, without_times, write_notebook
from tests.render.pages import page

COURSE = ROOT / "tests" / "courses" / "small"
SCRIPTS = {"zh": re.compile("[\u4e00-\u9fff]"), "ko": re.compile("[\uac00-\ud7a3]")}
LABELS = ("Part ", "Points", "What to do", "Graded:", "How it was graded", "Seed", "Duration")


def write_homework(folder: Path, sources: tuple[str, ...], declared: str | None) -> Path:
    """Write a notebook of the small course, which may declare a language."""
    about = {"assignment": "small", "version": 1}
    if declared is not None:
        about["language"] = declared
    return write_notebook(folder / "hw.ipynb", *sources, grader=about)


def report_in(
    folder: Path,
    sandbox: Sandbox,
    sources: tuple[str, ...],
    language: str | None = None,
    declared: str | None = None,
) -> Report:
    """Grade a notebook; the report is to be in `language`, if that is said."""
    settings = Settings(sandbox, seed=7, language=language)
    prepared = Preparation(load_course(COURSE).get("small"), settings)
    submission = read_submission(write_homework(folder, sources, declared))
    return grade(submission, prepared, Silent())


def told(report: Report) -> Iterator[str]:
    """Return every text about the submission that is not the assignment's or the student's own."""
    yield report.data.detail.in_(report.language)
    for part in report.parts:
        for check in part.checks:
            yield from (
                each.in_(report.language)
                for each in (check.title, check.reason, check.hint)
                if each
            )


def assert_all_is_translated(report: Report, output: str, language: str) -> None:
    assert language == report.language
    assert [] == [text for text in told(report) if not SCRIPTS[language].search(text)]
    assert [] == [label for label in LABELS if label in output]
    assert "{" not in output


@pytest.mark.parametrize(
    ("language", "sources", "declared"),
    [("zh", RIGHT, None), ("zh", WRONG, None), ("ko", WRONG, "zh"), ("ko", FAILING, None)],
)
def test_a_report_is_in_the_language_that_is_asked_for_first(
    tmp_path: Path,
    sandbox: Sandbox,
    language: str,
    sources: tuple[str, ...],
    declared: str | None,
) -> None:
    report = report_in(tmp_path, sandbox, sources, language, declared)
    assert_all_is_translated(report, page(report, 100), language)


def test_the_command_asks_for_the_language_of_its_option(tmp_path: Path) -> None:
    write_homework(tmp_path, WRONG, "zh")
    options = ("--course", COURSE, "--lang", "ko")
    result = run_grader(tmp_path, "hw.ipynb", *options)
    assert 0 == result.code
    assert_all_is_translated(result.report, result.output, "ko")


def test_a_notebook_decides_where_there_is_no_option(tmp_path: Path, sandbox: Sandbox) -> None:
    report = report_in(tmp_path, sandbox, WRONG, declared="zh")
    assert_all_is_translated(report, page(report, 100), "zh")


def test_a_notebook_in_another_language_is_told_in_english(
    tmp_path: Path, sandbox: Sandbox
) -> None:
    chosen = report_in(tmp_path, sandbox, WRONG, declared="xx")
    english = report_in(tmp_path, sandbox, WRONG, "en")
    assert "What to do: " in page(chosen, 100)
    ours, theirs = without_times(chosen), without_times(english)
    for each in (ours, theirs):
        each.pop("submission")  # the digest of the file, which tells its language
    assert theirs == ours


def test_a_damaged_notebook_is_told_of_in_the_language_of_the_option(tmp_path: Path) -> None:
    (tmp_path / "hw.ipynb").write_text("no notebook")
    result = run_grader(
        tmp_path, "hw.ipynb", "--course", COURSE, "--assignment", "small", "--lang", "zh"
    )
    assert "文件不是笔记本：它不是 JSON。" == result.report.parts[0].checks[0].reason.in_("zh")


def test_gradings_that_share_data_each_speak_their_own_language(
    tmp_path: Path, sandbox: Sandbox
) -> None:
    """The data and the sandbox are described before it is known who will read it."""
    said = {}
    prepared = Preparation(load_course(COURSE).get("small"), Settings(sandbox, seed=7))
    for language in ("zh", "en", "ko"):
        path = write_homework(tmp_path, FAILING, language)
        report = grade(read_submission(path), prepared, Silent())
        said[language] = report.data.detail.in_(report.language)
        assert (language == "en") == report.sandbox.detail.in_(report.language).isascii()
    assert said == {
        "en": "The assignment needs no test images.",
        "ko": "이 과제에는 테스트 이미지가 필요 없습니다.",
        "zh": "这份作业不需要测试图像。",
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
