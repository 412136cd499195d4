"""Notebooks in an older spelling: what is run, and how its results are told of."""

from __future__ import annotations

import msgspec
import nbformat
import pytest
from nbformat import NotebookNode

from grader.errors import UsageError
from grader.execute.result import Execution, Raised
from grader.grading import spelling as module
from grader.grading.spelling import MESSAGE_LENGTH, Accepted, Spelling, find_respelling
from grader.messages.kernel import Capture, CaptureFailure
from grader.reading.submission import first_lines, parse_content
from grader.report import CellProblem

TODAY = (
    "import tvm\nfrom tvm.script import tirx as T",
    "from __future__ import annotations\nx = 1",
    "x = 1\nfrom __future__ import division\n\\# odd",
    "%%bash\necho get_block",
    "  indented by mistake",
    "def get_block(): ...\nget_block()",
)

OLD = (
    "import tvm\nfrom tvm import relax\nfrom tvm.script import tir as T",
    "",
    "\n\nsch = tvm.tir.Schedule(mod)\nblock = sch.get_block('C')",
    '@tvm.script.ir_module\nclass M:\n    x = relax.Var(\n        "x", (4, 4),\n'
    '        relax.DynTensorType(2, "float32"),\n    )\n',
)


def notebook(*sources: str) -> NotebookNode:
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("T.block"), *cells])


def respell(written: NotebookNode, accepted: Accepted = "auto") -> Spelling:
    return module.respell(written, find_respelling(written), first_lines(written), accepted)


def sources(spelling: Spelling) -> list[str]:
    return [cell.source for cell in spelling.notebook.cells]


def execution(*problems: CellProblem, captures: tuple[Capture | CaptureFailure, ...] = ()):
    return Execution(notebook(), problems, cells=3, executed=0, captures=captures, notes=())


def failure(cell: int, line: int | None, message: str = "no") -> CaptureFailure:
    return CaptureFailure("p", "f", cell, "raised", "ValueError", message, line)


class TestTodaysNotebooks:
    def test_nothing_of_them_is_touched(self) -> None:
        written = notebook(*TODAY)
        spelling = respell(written)
        assert ("current", False) == (spelling.dialect, spelling.is_old)
        assert written is spelling.notebook

    def test_they_are_accepted_where_only_they_are(self) -> None:
        assert "current" == respell(notebook(*TODAY), "current").dialect

    def test_what_came_out_stays_as_it_is(self) -> None:
        came = execution(
            CellProblem(1, "E", "from tvm.script import tirx as T", 2),
            CellProblem(9, "E", "no such cell", 5),
            captures=(failure(2, 2), Capture("p", "m", 1, by_name=True, module=b"")),
        )
        assert came == respell(notebook(*TODAY)).own_words(came)

    def test_empty_lines_that_ipython_drops_at_the_top_are_counted(self) -> None:
        spelling = respell(notebook("\n\nraise ValueError"))
        came = spelling.own_words(execution(CellProblem(1, "ValueError", "", 1)))
        assert 3 == came.problems[0].line

    def test_a_function_of_an_earlier_cell_that_raised_is_told_by_its_cell(self) -> None:
        spelling = respell(notebook("\n\ndef f():\n    raise ValueError", "f()"))
        came = execution(CellProblem(2, "ValueError", "", 1))
        came = msgspec.structs.replace(came, raised=(Raised(2, 1, 2),))
        told = spelling.own_words(came).problems[0].hint.english
        assert "Look at code cell 1, line 4: the error was raised there." == told


class TestOldNotebooks:
    def test_they_are_run_in_todays_spelling(self) -> None:
        written = notebook(*OLD)
        spelling = respell(written)
        assert ("2022", True) == (spelling.dialect, spelling.is_old)
        assert "from tvm.script import tirx as T" in sources(spelling)[1]
        assert "tvm.s_tir.Schedule(mod)\nblock = sch.get_sblock('C')" in sources(spelling)[3]
        assert list(OLD) == [cell.source for cell in written.cells[1:]]
        assert "T.block" == sources(spelling)[0]

    def test_a_name_that_no_rewrite_supplies_makes_a_notebook_old(self) -> None:
        spelling = respell(notebook("import tvm", "tvm.ir.structural_equal(a, b)"))
        assert spelling.is_old

    def test_errors_are_told_in_the_students_own_lines(self) -> None:
        came = respell(notebook(*OLD)).own_words(
            execution(
                CellProblem(2, "ScheduleError", "in `block = sch.get_sblock('C')`", 2),
                CellProblem(2, "ScheduleError", "another", None),
                captures=(failure(2, 4, "at block = sch.get_sblock('C')"), failure(2, None)),
            )
        )
        assert "2022" == came.dialect
        assert [("in `block = sch.get_block('C')`", 4), ("another", None)] == [
            (each.message, each.line) for each in came.problems
        ]
        assert [("at block = sch.get_block('C')", 4), ("no", None)] == [
            (each.message, each.line) for each in came.captures if isinstance(each, CaptureFailure)
        ]

    def test_a_message_does_not_grow_without_end(self) -> None:
        cell = "import tvm\n" + "tvm.nd.array(a)  # " + 10_000 * "b"
        spelling = respell(notebook(cell))
        message = sources(spelling)[1].split("\n")[1].strip()
        came = spelling.own_words(execution(CellProblem(1, "E", message, 1)))
        assert MESSAGE_LENGTH == len(came.problems[0].message)
        assert came.problems[0].message.startswith("tvm.nd.array(a)")

    def test_what_was_captured_is_not_touched(self) -> None:
        capture = Capture("p", "f", 2, by_name=True, module=b"", source="sch.get_sblock('C')")
        came = respell(notebook(*OLD)).own_words(execution(captures=(capture,)))
        assert (capture,) == came.captures

    def test_lines_that_move_keep_their_number(self) -> None:
        cell = "import tvm\nx = tvm.nd.array(a)\nfrom __future__ import annotations\nx.y"
        spelling = respell(notebook(cell))
        run = sources(spelling)[1].split("\n")
        assert "from __future__ import annotations" == run[0]
        problems = [CellProblem(1, "E", "", number) for number in (2, 3, 4)]
        came = spelling.own_words(execution(*problems))
        assert [1, 2, 4] == [each.line for each in came.problems]

    def test_they_are_refused_where_only_todays_are_accepted(self) -> None:
        with pytest.raises(
            UsageError, match=r"as of 2022: code cell 1, line 3 has `tvm\.script\.tir`"
        ):
            respell(notebook(*OLD), "current")


class TestTextFiles:
    SCRIPT = b"# %% [markdown]\n# Words.\n\n# %%\nimport tvm\n# %%\n\nsch = tvm.tir.Schedule(m)\n"

    def test_lines_are_those_of_the_file(self) -> None:
        spelling = respell(parse_content(self.SCRIPT, ".py"))
        came = spelling.own_words(
            execution(CellProblem(2, "NameError", "", 1), captures=(failure(1, 1), failure(2, 2)))
        )
        assert [8] == [each.line for each in came.problems]
        assert [5, 8] == [each.line for each in came.captures if isinstance(each, CaptureFailure)]

    def test_so_is_the_line_where_a_function_of_an_earlier_cell_raised(self) -> None:
        spelling = respell(parse_content(self.SCRIPT, ".py"))
        came = execution(CellProblem(2, "E", "", 1))
        came = msgspec.structs.replace(came, raised=(Raised(2, 1, 1),))
        told = spelling.own_words(came).problems[0].hint.english
        assert "Look at line 5: the error was raised there." == told

    def test_so_is_the_line_that_is_refused(self) -> None:
        with pytest.raises(UsageError, match="code cell 2, line 8 has"):
            respell(parse_content(self.SCRIPT, ".py"), "current")
