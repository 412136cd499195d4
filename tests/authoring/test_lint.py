"""`grader lint`'s rules: each finds its fault, names its place, and nothing else."""

from __future__ import annotations

import pytest

from grader.authoring.lint import RULES, lint
from grader.authoring.subject import read_subject
from tests.authoring.masters import ASSIGNMENT, TRANSLATED

KO = TRANSLATED[
    TRANSLATED.index('# %% [markdown] lang="ko"') : TRANSLATED.index("# %% [markdown] tags")
]
MORE = """
# %% [markdown]
# # `more`
# %% [markdown]
# More.
# %% [markdown] lang="zh"
# 更多。
# %% [markdown] lang="ko"
# 더.
"""

SOLVED = """\
# %%
def answer():
    ### BEGIN SOLUTION
    return 1
    ### END SOLUTION
"""


def findings(tmp_path, text):
    path = tmp_path / "task.py"
    path.write_text(text, encoding="utf-8")
    return lint(read_subject(path, ASSIGNMENT))


def test_a_master_without_a_fault_has_no_findings(tmp_path):
    assert [] == findings(tmp_path, TRANSLATED + MORE)


FAULTS = [
    # what is replaced, by what, severity, problem, cell, line
    ('["instructor"]', "[instructor]", "error", "metadata cannot be read", 4, 17),
    ('["instructor"]', '["Instructors"]', "error", "'Instructors' does not hide", 4, 17),
    ("    ### END SOLUTION\n", "", "error", "`### BEGIN SOLUTION` without its end", 5, 26),
    ("### BEGIN SOLUTION", "### Begin solution", "error", "looks like a mark but is none", 5, 26),
    ("def answer():", "def answer(:", "error", "does not parse", 5, 20),
    ("def answer", "def solve", "error", "by the name answer, which no cell defines", 0, None),
    ("def answer", "import grader.cli\ndef answer", "error", "imports grader", 5, 20),
    ("def answer", "from grader import x\ndef answer", "error", "imports grader", 5, 20),
    ('lang="ko"', 'lang="zh"', "error", "second translation of one cell into zh", 3, 12),
    ("    # zh: 返", "# zh: 返", "error", "translates nothing", 5, 23),
    (KO, "", "warning", "There is no translation into Korean", 1, 2),
    ("    # zh: 返回输入的两倍。\n", "", "warning", "no translation into Chinese", 5, 21),
    ("定义 `answer`", "定义", "warning", "Chinese lost the code `answer`", 2, 7),
    ("manual)。", "handbook)。", "warning", "lost the link to https://example.org/manual", 2, 7),
    ("# # 과제", "# ## 과제", "warning", "Korean lost the headings of levels [1]", 3, 12),
    ("请定义", "**请：**定义", "warning", "shown as stars", 2, 7),
    ("# # A task", "# # 一道题", "warning", "English template shows text in Chinese", 1, 2),
    ("twice the input", "두 배", "warning", "English template shows text in Korean", 5, 20),
]


@pytest.mark.parametrize(("before", "after", "severity", "problem", "number", "line"), FAULTS)
def test_a_fault_is_found_where_it_is(tmp_path, before, after, severity, problem, number, line):
    assert before in TRANSLATED
    found = findings(tmp_path, TRANSLATED.replace(before, after, 1) + MORE)
    first = next(finding for finding in found if problem in finding.problem.english)
    assert (severity, number, line) == (first.severity, first.number, first.line)
    assert first.hint


@pytest.mark.parametrize(
    ("english", "chinese", "lost"),
    [
        ("10 for one, 30 for all", "一题 10 分，共 20 分", "the number 30"),
        ("* a\n* b", "* 甲，乙", "an item of a list"),
        ("|a|\n|---|\n|b|\n|c|", "|甲|\n|---|\n|乙|", "a row of a table"),
        ("a\n```\nx\n```", "甲", "a block of code"),
    ],
)
def test_what_a_translation_lost_is_named(tmp_path, english, chinese, lost):
    cells = [("", english), (' lang="zh"', chinese)]
    text = SOLVED
    for language, words in cells:
        lines = "\n".join(f"# {line}" for line in words.split("\n"))
        text += f"# %% [markdown]{language}\n{lines}\n"
    (found,) = findings(tmp_path, text)
    assert f"The translation into Chinese lost {lost}." == found.problem.english


def test_a_translation_without_a_word_of_its_language_is_told(tmp_path):
    text = "# %% [markdown]\n# Words.\n"
    text += '# %% [markdown] lang="zh"\n# Words.\n# %% [markdown] lang="de"\n# Words.\n'
    text += SOLVED
    (found,) = findings(tmp_path, text)
    assert "The translation into Chinese does not contain it." == found.problem.english


def test_a_translation_of_code_alone_needs_no_word(tmp_path):
    text = '# %% [markdown]\n# `answer`\n# %% [markdown] lang="zh"\n# `answer`\n'
    assert [] == findings(tmp_path, text + SOLVED)


def test_a_name_that_only_the_solution_has_is_told(tmp_path):
    text = "# %%\n### BEGIN SOLUTION\ndef answer_all():\n    return 1\n### END SOLUTION"
    (found,) = findings(tmp_path, text)
    assert "Students never see answer" in found.problem.english


def test_what_instructors_alone_see_need_not_be_translated_or_english(tmp_path):
    hidden = '# %% [markdown] tags=["instructor"]\n# 仅供教师\n# %% tags=["instructor"]\n'
    hidden += "import grader\n"
    assert [] == findings(tmp_path, TRANSLATED + hidden)


def test_an_import_that_may_fail_is_allowed(tmp_path):
    text = "\n# %%\ntry:\n    import grader\nexcept ImportError:\n    grader = None\n"
    assert [] == findings(tmp_path, TRANSLATED + text)


def test_a_master_in_english_alone_lacks_nothing(tmp_path):
    assert [] == findings(tmp_path, "# %% [markdown]\n# Words.\n" + SOLVED)


@pytest.mark.parametrize(
    "more", ["", "# %%\n### BEGIN HIDDEN TESTS\nanswer()\n### END HIDDEN TESTS\n"]
)
def test_a_solution_that_is_not_marked_is_told(tmp_path, more):
    (found,) = findings(tmp_path, "# %%\ndef answer():\n    return 1\n" + more)
    assert "error" == found.severity
    assert "No solution is marked" in found.problem.english


def test_a_solution_that_instructors_alone_see_may_be_meant_so(tmp_path):
    text = SOLVED.replace("# %%", '# %% tags=["instructor"]')
    text += "# %%\ndef answer():\n    return 2\n"
    (found,) = findings(tmp_path, text)
    assert "warning" == found.severity
    assert "No solution is marked" in found.problem.english


def test_a_solution_that_is_marked_by_nbgrader_s_metadata_is_marked(tmp_path):
    text = '# %% nbgrader={"solution": true, "grade": false, "grade_id": "a"}\n'
    told = {found.problem.english for found in findings(tmp_path, text + "answer = max\n")}
    assert not any("No solution is marked" in each for each in told)


def test_findings_come_in_the_order_of_the_file(tmp_path):
    text = TRANSLATED.replace("twice", "두").replace("# # A", "# # 一").replace("# # 과", "# 과")
    numbers = [finding.number for finding in findings(tmp_path, text)]
    assert sorted(numbers) == numbers
    assert {1, 3, 5} == set(numbers)


def test_every_rule_says_what_it_is_for():
    assert all(rule.__doc__ for rule in RULES)
