"""A command speaks the language that `--lang` or GRADER_LANG names, also of what it cannot do."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.cli.ending import command_language
from tests.endtoend.warm import run_warm

SAID = {
    "en": ("There is no file missing.json.", "Check the name and the folder."),
    "zh": ("没有文件 missing.json。", "请检查文件名和文件夹。"),
    "ko": ("파일 missing.json이(가) 없습니다.", "파일 이름과 폴더를 확인하세요."),
}


def told(folder: Path, *arguments: str, **variables: str) -> str:
    """Return what a command that fails says on its standard error."""
    done = run_warm(arguments, folder, {"COLUMNS": "200", **variables})
    assert (2, "") == (done.returncode, done.stdout)
    return done.stderr


@pytest.mark.parametrize("language", SAID)
def test_an_error_is_said_with_what_to_do(language: str, tmp_path: Path) -> None:
    message, hint = SAID[language]
    said = told(tmp_path, "render", "missing.json", "--lang", language)
    assert [f"grader: {message}", f"        {hint}"] == said.splitlines()


def test_the_variable_names_it_where_no_option_does(tmp_path: Path) -> None:
    assert SAID["zh"][0] in told(tmp_path, "render", "missing.json", GRADER_LANG="zh")
    korean = told(tmp_path, "render", "missing.json", "--lang=ko", GRADER_LANG="zh")
    assert SAID["ko"][0] in korean


def test_a_notebook_that_is_not_there_is_told_before_it_is_graded(tmp_path: Path) -> None:
    said = told(tmp_path, "run", "missing.ipynb", "--lang", "ko")
    assert said.startswith("grader: missing.ipynb을(를) 읽을 수 없습니다")
    assert "        파일 이름과 폴더를 확인하세요." in said.splitlines()


@pytest.mark.parametrize(
    ("arguments", "variable", "language"),
    [
        ([], None, "en"),
        (["--lang", "ko"], None, "ko"),
        (["--lang=zh"], "ko", "zh"),
        (["--lang", "zh", "--lang", "ko"], None, "ko"),
        (["--lang"], None, "en"),
        (["--lang", "de"], None, "en"),
        (["--lang", "de"], "ko", "en"),
        ([], "ko", "ko"),
        ([], "xx", "en"),
    ],
)
def test_the_language_is_the_last_that_is_named(
    arguments: list[str], variable: str | None, language: str
) -> None:
    environment = {} if variable is None else {"GRADER_LANG": variable}
    assert language == command_language(["run", "hw.ipynb", *arguments], environment)
