"""Errors of cells, made short."""

from __future__ import annotations

import sys

import pytest

from grader.assignment import Limits
from grader.execute.problems import (
    MESSAGE_LENGTH,
    cell_problem,
    raised_elsewhere,
    telling_line,
)
from grader.execute.result import Raised

SCHEDULE_ERROR = """ScheduleError: An error occurred in the schedule primitive 'vectorize'.

The IR with diagnostic is:
# from tvm.script import ir as I
@I.ir_module
class Module:
    def mm(A: T.Buffer((16, 16), "float32")):
Error message: The "vectorize" cannot be fulfilled with regard to block s_tir.SBlock#0"""


BASE = sys.prefix if sys.base_prefix == "/usr" else sys.base_prefix
"""Where Python is. A system's own is in a folder that every system has, and that is told."""


class TestTellingLine:
    @pytest.mark.parametrize(
        ("message", "line"),
        [
            ("division by zero", "division by zero"),
            ("", ""),
            ("\n  second line first\nthen more", "second line first"),
            (
                SCHEDULE_ERROR,
                'vectorize: The "vectorize" cannot be fulfilled with regard to block '
                "s_tir.SBlock#0",
            ),
            (
                "Check failed: (func.has_value()) is false: Error: Cannot find function env.no",
                "Error: Cannot find function env.no",
            ),
            (
                "error: Program is not well-formed.\n --> /tmp/x.py:4:2",
                "Program is not well-formed",
            ),
            (
                "error: Program is not well-formed. If this is deliberate, consider setting"
                " check_well_formed in the top-level decorator to False (e.g.,"
                " @I.ir_module(check_well_formed=False)).\n\nTraceback: Well-formedness check"
                " failed: Loop iterator var i is defined outside of any block.\n --> /x.py:5:1",
                "Program is not well-formed: Loop iterator var i is defined outside of any block.",
            ),
            (
                "The module:\n...\nError message: It meets none of the conditions:\n1) a;\n2) b",
                "It meets none of the conditions: 1) a; 2) b",
            ),
            (
                'Traceback (most recent call last):\n  File "/a/b.cc", line 3\nTVMError: no loop',
                "TVMError: no loop",
            ),
        ],
    )
    def test_it_is_the_reason(self, message: str, line: str) -> None:
        assert telling_line(message) == line

    @pytest.mark.parametrize(
        ("message", "line"),
        [
            (f"see {sys.prefix}/lib/python3.11/site-packages/torch/nn.py", "see torch/nn.py"),
            (f"in '{BASE}/lib/x.py'", "in 'lib/x.py'"),
            ("no file /scratch/data/images", "no file data/images"),
            ("in /tmp/ipykernel_12/345.py", "in the cell"),
            ("no file '/content/drive/mine.pkl'", "no file '/content/drive/mine.pkl'"),
        ],
    )
    def test_it_has_no_path_of_this_machine_but_the_student_s_own(
        self, message: str, line: str
    ) -> None:
        assert telling_line(message) == line

    def test_numbers_are_written_as_numbers(self) -> None:
        line = telling_line("Incompatible broadcast dims: T.int64(26) and T.int32(-1)")
        assert "Incompatible broadcast dims: 26 and -1" == line

    def test_it_is_short(self) -> None:
        line = telling_line("x" * 5_000_000)
        assert len(line) == MESSAGE_LENGTH
        assert line.endswith("x…")


LIMITS = Limits()


class TestCellProblem:
    def test_the_line_is_the_innermost_of_this_cell(self) -> None:
        traceback = [
            "\x1b[31mValueError\x1b[39m  Traceback (most recent call last)",
            "\x1b[36mCell\x1b[39m\x1b[36m \x1b[39m\x1b[32mIn[12]\x1b[39m\x1b[32m, line 8\x1b[39m",
            "Cell In[12], line 5, in outer()",
            "Cell In[3], line 77, in helper()",
            "File /usr/lib/python3/json.py:9, in load()",
        ]
        content = {"ename": "ValueError", "evalue": "\x1b[31mno\x1b[0m", "traceback": traceback}
        problem = cell_problem(content, 12, Limits())
        assert (problem.cell, problem.error, problem.message) == (12, "ValueError", "no")
        assert problem.line == 5

    @pytest.mark.parametrize(
        ("error", "last", "raised"),
        [
            ("IndexError", "Cell In[3], line 77, in helper()", Raised(12, 3, 77)),
            ("IndexError", "Cell In[12], line 6, in inner()", None),
            ("IndexError", "Cell In[13], line 6, in inner()", None),  # of %%capture, say
            ("AssertionError", "Cell In[3], line 77, in check()", None),  # it checks, and is right
        ],
    )
    def test_of_a_function_of_an_earlier_cell_it_is_known_where_it_raised(
        self, error: str, last: str, raised: Raised | None
    ) -> None:
        traceback = ["Cell In[12], line 5", last, "File /usr/lib/numpy.py:9, in load()"]
        content = {"ename": error, "evalue": "no", "traceback": traceback}
        assert raised == raised_elsewhere(content, 12)

    def test_the_place_in_a_syntax_error_is_left_to_the_line(self) -> None:
        content = {
            "ename": "SyntaxError",
            "evalue": "invalid syntax (2863551.py, line 2)",
            "traceback": ["  Cell In[4], line 2\n    x = = 1\n        ^\nSyntaxError: invalid"],
        }
        problem = cell_problem(content, 4, Limits())
        assert (problem.message, problem.line) == ("invalid syntax", 2)

    @pytest.mark.parametrize(
        "content",
        [
            {},
            {"ename": 3, "evalue": ["x"], "traceback": "Cell In[1], line 1"},
            {"ename": "", "evalue": None, "traceback": [4, None, {}]},
            {"traceback": ["Cell In[1], line 99999999999999999999"]},
        ],
    )
    def test_anything_may_come(self, content: dict[str, object]) -> None:
        problem = cell_problem(content, 1, Limits())
        assert (problem.error, problem.message, problem.line) == ("Error", "", None)
