"""The self-check speaks the language of the notebook, also where something is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.selfcheck.connection import CheckerClient, CheckError
from grader.selfcheck.messages import AssignmentCard, FindAssignment
from tests.selfcheck import kernels
from tests.selfcheck.kernels import COURSE, IMPORTS, LOAD, STUB, run_notebook, shown


def test_a_refusal_is_in_the_language_that_was_asked_in() -> None:
    unknown = FindAssignment("/", (), str(COURSE), slug="huge", language="zh")
    with CheckerClient() as checker, pytest.raises(CheckError) as caught:
        checker.ask(unknown, AssignmentCard)
    assert f"{COURSE} 里没有名为 'huge' 的作业。" == caught.value.message.in_("zh")
    assert ("可用的有：small, tight, trio。", "zh") == (
        caught.value.hint.in_("zh"),
        caught.value.language,
    )


def test_a_refusal_is_in_the_language_of_the_notebook(tmp_path: Path) -> None:
    kernels.write_notebook(tmp_path / "hw.ipynb", "1", grader={"language": "ko"})
    unknown = FindAssignment(str(tmp_path), (), str(COURSE), slug="huge", notebook="hw.ipynb")
    with CheckerClient() as checker, pytest.raises(CheckError) as caught:
        checker.ask(unknown, AssignmentCard)
    assert caught.value.language == "ko"
    assert "과제가 없습니다" in caught.value.message.in_("ko")


def test_every_answer_is_in_the_language_that_was_chosen(tmp_path: Path) -> None:
    cells = {
        "%grader chek": "명령 'chek'이(가) 없습니다.\n할 일: %grader help를 보세요.",
        "%grader check layer": "trio에는 파트 'layer'이(가) 없습니다.",
        "%grader check model": "아직 풀지 않았습니다.",
        "%grader help": "과제의 파트를 검사합니다.",
        "%grader parts": "채점되는 이름",
    }
    notebook = run_notebook(tmp_path, IMPORTS, LOAD, "%grader use trio --lang ko", STUB, *cells)
    for cell, sentence in cells.items():
        text = shown(notebook, cell)
        assert sentence in text
        assert "What to do" not in text
