"""docs/architecture.md answers a newcomer's questions, with files that are there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
QUESTIONS = PAGE.partition("\n## Five questions\n")[2].partition("\n## ")[0]
NAMED = re.findall(r"`((?:grader|assignments|tests|tools|benchmarks|docs)/[^`]*)`", QUESTIONS)
"""Paths of the section, some with a name in the file: `grader/api.py: grade`."""


@pytest.mark.parametrize(
    "question",
    [
        "Where is a point for speed decided?",
        "Which code runs beside student Python?",
        "Where would a new check go?",
        "Who may read hidden inputs?",
        "Where does this sentence come from?",
    ],
)
def test_a_question_is_answered_with_a_file(question: str) -> None:
    answer = QUESTIONS.partition(f"**{question}**")[2].partition("\n\n**")[0]
    assert re.search(r"`grader/[^`]+`", answer)


def test_what_an_answer_names_is_there(subtests: pytest.Subtests) -> None:
    for named in NAMED:
        with subtests.test(named):
            path, _, name = named.partition(": ")
            assert (ROOT / path).exists()
            if name:
                tree = ast.parse((ROOT / path).read_text("utf-8"))
                assert name in {getattr(node, "name", None) for node in tree.body}


def test_the_folders_and_modules_of_the_tables_are_there() -> None:
    """Those that are written out; what is in a section's own folder is named without it."""
    paths = re.findall(r"`((?:grader|benchmarks|tools)/[\w/.]+)`", PAGE)
    assert [] == [each for each in paths if not (ROOT / each).exists()]
