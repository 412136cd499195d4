"""Notebooks that behave: what is run, shown, captured and reported."""

from __future__ import annotations

import time
from typing import Any

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from grader.assignment import Limits
from grader.execute.kernel import KernelOrder
from grader.execute.notebook import CellClient, execute_notebook
from grader.execute.result import Execution
from grader.language import NOTHING, Text
from grader.messages.kernel import Capture
from grader.report import CellProblem
from grader.sandbox.interface import Sandbox
from tests.execute.conftest import ENTRIES, run_cells

MODEL = """
from tvm import relax
from tvm.script import relax as R

def create_model():
    builder = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor((4,), "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            y = builder.emit_output(builder.emit(relax.op.nn.relu(x)))
        builder.emit_func_output(y)
    return builder.get()
"""

CELLS = {
    "shown": "print('printed')\n6 * 7",
    "raises": "def divide():\n    return 1 / 0\n\ndivide()",
    "indented": "  x = 1\n y = 2",
    "after": "print('still running', 'x' in globals())",
    "shell": "!wget -nc http://example.com/file\n!pip install left-pad",
    "pip": "%pip install left-pad",
    "warns": "import warnings\nwarnings.warn('on stderr')",
    "torchvision": "from torchvision import datasets, transforms\nimport torch\n"
    "print(datasets.FashionMNIST.__name__, torch.get_num_threads())",
    "drawing": "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()",
    "files": "print(open('data/given').read())\n"
    "open('data/given', 'w').write('new')\n"
    "open('helper.py', 'w').write('answer = 42')\nimport helper\nprint(helper.answer)",
    "history": "print(In[1] == 'print(\\'printed\\')\\n6 * 7', Out[1])",
    "display": "from IPython.display import display\nfirst = display('first', display_id='one')",
    "update": "display('second', display_id='one', update=True)\n"
    "_ = display('third', display_id='one')",
    "asks": "input('name?')",
    "model": MODEL,
    "loop": "for number in range(3000):\n    print(number, flush=True)",
}
KERNEL = {"name": "no-such-kernel", "display_name": "none"}
NUMBERS = {name: number for number, name in enumerate(CELLS, start=1)}


class Recorder:
    """A progress that remembers."""

    def __init__(self) -> None:
        self.steps: list[tuple[int, int, str]] = []

    def stage(self, name: Text, *, waits: bool = False) -> None:
        raise AssertionError("stages are the pipeline's")

    def step(self, done: int, total: int, label: Text = NOTHING) -> None:
        self.steps.append((done, total, label.english))


@pytest.fixture(scope="module")
def recorder() -> Recorder:
    return Recorder()


@pytest.fixture(scope="module")
def execution(sandbox: Sandbox, recorder: Recorder) -> Execution:
    """One notebook with a cell for each behaviour."""
    return run_cells(sandbox, *CELLS.values(), files={"data/given": b"old"}, progress=recorder)


def outputs(execution: Execution, name: str) -> list[dict[str, object]]:
    cell = execution.notebook.cells[NUMBERS[name] - 1]
    return list(cell.outputs)


def printed(execution: Execution, name: str) -> str:
    streams = (output for output in outputs(execution, name) if output["output_type"] == "stream")
    return "".join(str(output["text"]) for output in streams)


class TestOutputs:
    def test_what_a_cell_prints_and_returns_is_kept(self, execution: Execution) -> None:
        stream, result = outputs(execution, "shown")
        assert stream == {"output_type": "stream", "name": "stdout", "text": "printed\n"}
        assert result["data"] == {"text/plain": "42"}
        assert execution.notebook.cells[0].execution_count == 1

    def test_pieces_of_one_stream_are_joined(self, execution: Execution) -> None:
        assert len(outputs(execution, "loop")) == 1
        assert printed(execution, "loop").split() == [str(number) for number in range(3000)]

    def test_no_line_is_lost_where_reading_takes_longer_than_the_cell(
        self, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        class Slow(CellClient):
            def process_message(self, *arguments: Any) -> Any:
                time.sleep(0.01)
                return super().process_message(*arguments)

        monkeypatch.setattr("grader.execute.notebook.CellClient", Slow)
        slow = run_cells(sandbox, "for number in range(600):\n    print(number, flush=True)")
        (stream,) = slow.notebook.cells[0].outputs
        assert [str(number) for number in range(600)] == stream.text.split()

    def test_a_drawing_is_an_image(self, execution: Execution) -> None:
        images = [output["data"] for output in outputs(execution, "drawing") if "data" in output]
        assert any("image/png" in image for image in images)

    def test_the_student_s_own_traceback_is_kept(self, execution: Execution) -> None:
        (error,) = outputs(execution, "raises")
        assert error["output_type"] == "error"
        assert "divide()" in str(error["traceback"])

    def test_a_display_cannot_change_another_cell(self, execution: Execution) -> None:
        (first,) = outputs(execution, "display")
        assert first["data"] == {"text/plain": "'first'"}


class TestProblems:
    def test_each_failed_cell_is_one_with_its_line(self, execution: Execution) -> None:
        by_cell = {problem.cell: problem for problem in execution.problems}
        assert set(by_cell) == {NUMBERS[name] for name in ("raises", "indented")}
        assert by_cell[NUMBERS["raises"]] == CellProblem(
            cell=NUMBERS["raises"], error="ZeroDivisionError", message="division by zero", line=2
        )
        indented = by_cell[NUMBERS["indented"]]
        assert (indented.error, indented.message) == ("IndentationError", "unexpected indent")
        assert indented.line == 1

    def test_cells_after_an_error_are_run(self, execution: Execution) -> None:
        assert printed(execution, "after") == "still running False\n"
        assert execution.cells == len(CELLS)
        assert execution.executed == len(CELLS) - 2

    def test_a_question_is_answered_with_an_empty_line(self, execution: Execution) -> None:
        assert printed(execution, "asks") == "name?\n"
        assert tuple(note.english for note in execution.notes) == (
            f"The notebook asked for input (code cell {NUMBERS['asks']}). Nobody can answer during"
            " grading, so it got an empty line.",
        )


class TestSurroundings:
    def test_downloads_and_installations_fail_without_harm(self, execution: Execution) -> None:
        assert "unable to resolve" in printed(execution, "shell") or "not found" in printed(
            execution, "shell"
        )
        # Debian's pip reads certificates of the system, which a sandbox does not have.
        ends = ("No matching distribution", "Error")
        assert any(end in printed(execution, "shell") for end in ends)
        assert any(end in printed(execution, "pip") for end in ends)

    def test_a_warning_is_no_problem(self, execution: Execution) -> None:
        assert "on stderr" in printed(execution, "warns")

    def test_torchvision_can_be_imported(self, execution: Execution) -> None:
        assert printed(execution, "torchvision") == "FashionMNIST 1\n"

    def test_files_are_in_the_working_folder(self, execution: Execution) -> None:
        assert printed(execution, "files") == "old\n42\n"

    def test_earlier_inputs_and_results_have_their_names(self, execution: Execution) -> None:
        assert printed(execution, "history") == "True 42\n"


class TestCaptures:
    def test_a_model_arrives_with_the_cell_that_made_it(self, execution: Execution) -> None:
        (capture,) = execution.captures
        assert isinstance(capture, Capture)
        assert (capture.part, capture.name) == ("model", "create_model")
        assert capture.cell == NUMBERS["model"]
        assert b"nn.relu" in capture.module


class TestPreamble:
    """Imports that the assignment's own notebook begins with."""

    def test_it_is_offered_to_who_lacks_it(self, sandbox: Sandbox) -> None:
        execution = run_cells(sandbox, "json.dumps(1)", preamble="import json\n")
        (problem,) = execution.problems
        assert "put `import json` before this" in problem.hint.english

    def test_it_is_run_first_and_is_no_cell(self, sandbox: Sandbox) -> None:
        execution = run_cells(
            sandbox, "json.dumps(1)", "In[1]", preamble="import json", is_preamble_run=True
        )
        assert () == execution.problems
        results = [cell.outputs[0]["data"]["text/plain"] for cell in execution.notebook.cells]
        assert ["'1'", "'json.dumps(1)'"] == results


def test_progress_counts_the_cells(execution: Execution, recorder: Recorder) -> None:
    count = len(CELLS)
    assert recorder.steps[0] == (0, count, f"code cell 1 of {count}")
    assert recorder.steps[-1] == (count, count, "")
    assert [done for done, _, _ in recorder.steps] == list(range(count + 1))


def test_cells_are_counted_as_jupyter_counts_them(sandbox: Sandbox) -> None:
    """Text and cells without code have no number; the notebook itself stays as it was."""
    old = new_output("stream", name="stdout", text="Pass")
    cells = [
        new_markdown_cell("# text"),
        new_code_cell("x = 1", execution_count=9, outputs=[old]),
        new_code_cell("  \n"),
        new_code_cell("# only a comment", metadata={"tags": ["skip-execution"]}),
        new_code_cell("undefined"),
    ]
    notebook = new_notebook(cells=cells, metadata={"kernelspec": KERNEL})
    order = KernelOrder(sandbox, ENTRIES, {}, Limits())
    execution = execute_notebook(notebook, order, Recorder())
    assert (execution.cells, execution.executed) == (3, 2)
    assert [problem.cell for problem in execution.problems] == [3]
    counts = [cell.get("execution_count") for cell in execution.notebook.cells]
    assert counts == [None, 1, None, 2, 3]
    assert execution.notebook.cells[1].outputs == []
    assert notebook.cells[1].outputs == [old]
