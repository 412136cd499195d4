"""`%grader` in real kernels, beside what a grading says of the same notebooks."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from nbformat import NotebookNode

from grader.course import load_course
from grader.grading.pipeline import grade
from grader.grading.preparation import Preparation, Settings
from grader.progress import Silent
from grader.reading.submission import read_submission
from grader.report import Part, Report
from grader.sandbox.interface import Sandbox
from tests.selfcheck import kernels
from tests.selfcheck.kernels import (
    COURSE,
    IMPORTS,
    LOAD,
    RAISES,
    REGISTERED,
    SCHEDULED,
    SOLVED,
    STUB,
    WITHOUT_BIAS,
    run_notebook,
    shown,
)
from tests.selfcheck.pages import section

STATE = """
import random, warnings
state = (
    np.random.get_state()[1].tolist(), torch.get_rng_state().tolist(), random.getstate(),
    os.getcwd(), str(warnings.filters), torch.get_num_threads(),
    [name for name in sorted(globals()) if not name.startswith("_")],
    tvm.get_global_func("env.dense").__chandle__(),
)
"""

INTERRUPTED = """
threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
%grader check trio/model
"""  # the process that checks takes longer to start

CELLS = (
    IMPORTS,
    LOAD,
    SOLVED,
    "%grader check model",
    REGISTERED,
    WITHOUT_BIAS,
    f"before = state = None\n{STATE}before = state",
    "%grader check extern",
    f"{STATE}assert before == state",
    SCHEDULED,
    "%grader check schedule",
    "%grader check",
    "%grader parts",
    "%grader chek",
    "%grader check layer",
    "%grader check small/layer",
    "%grader use trio",
    "%grader use nosuch",
    "%grader use trio --course nowhere",
    "%grader use --lang xx",
    "%grader parts # still",
    RAISES,
    "%grader check create_model",
    f"{STUB}# again",
    "%grader check model extern",
)


@pytest.fixture(scope="module")
def notebook(tmp_path_factory: pytest.TempPathFactory) -> NotebookNode:
    """All of CELLS, run to the end."""
    return run_notebook(tmp_path_factory.mktemp("student"), *CELLS)


def graded(folder: Path, sandbox: Sandbox, *sources: str) -> tuple[Report, dict[str, Part]]:
    """Return what a grading says of cells."""
    path = folder / "hw.ipynb"
    kernels.write_notebook(path, *sources)
    prepared = Preparation(load_course(COURSE).get("trio"), Settings(sandbox, seed=7))
    report = grade(read_submission(path), prepared, Silent())
    return report, {part.id: part for part in report.parts}


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory, sandbox: Sandbox) -> dict[str, Part]:
    """What a grading says of the cells up to the check of all parts."""
    report, parts = graded(tmp_path_factory.mktemp("first"), sandbox, *CELLS[:12])
    assert () == report.problems
    return parts


@pytest.fixture(scope="module")
def last(tmp_path_factory: pytest.TempPathFactory, sandbox: Sandbox) -> dict[str, Part]:
    """What a grading says of an entry point that raises."""
    return graded(tmp_path_factory.mktemp("last"), sandbox, IMPORTS, LOAD, *"345", RAISES)[1]


@pytest.fixture(scope="module")
def late(tmp_path_factory: pytest.TempPathFactory) -> NotebookNode:
    """An extension that is loaded early, taken back, and loaded again when all is there."""
    return run_notebook(
        tmp_path_factory.mktemp("late"),
        "import os, signal, threading",
        "%load_ext grader",
        INTERRUPTED,
        "%grader check small/model # too early",
        "%unload_ext grader",
        IMPORTS,
        REGISTERED,
        WITHOUT_BIAS,
        "%load_ext grader",
        "%grader use trio",
        "%grader check extern",
        f"{REGISTERED}# again",
        "%grader check extern # again",
    )


class TestWords:
    """A check says what the report says."""

    def test_of_a_part_that_is_solved(self, notebook: NotebookNode, first: dict[str, Part]) -> None:
        assert 10 == first["model"].score
        assert section(first["model"]) in shown(notebook, "%grader check model")

    def test_of_a_wrong_answer(self, notebook: NotebookNode, first: dict[str, Part]) -> None:
        assert 4 == first["extern"].score
        assert section(first["extern"]) in shown(notebook, "%grader check extern")

    def test_of_a_schedule(self, notebook: NotebookNode, first: dict[str, Part]) -> None:
        assert 10 == first["schedule"].score
        assert section(first["schedule"]) in shown(notebook, "%grader check schedule")

    def test_of_all_parts_in_the_reports_order(
        self, notebook: NotebookNode, first: dict[str, Part]
    ) -> None:
        everything = shown(notebook, "%grader check")
        places = [everything.index(section(part)) for part in first.values()]
        assert sorted(places) == places
        assert "24 of 30 points" in everything

    def test_of_an_entry_point_that_raises(
        self, notebook: NotebookNode, last: dict[str, Part]
    ) -> None:
        text = shown(notebook, "%grader check create_model")
        (reason,) = {check.reason for check in last["model"].checks}
        assert reason.english.startswith(
            "create_model (code cell 6) raised AttributeError at line 3:"
        )
        assert reason.english.replace("code cell 6", "code cell 22") in " ".join(text.split())

    def test_of_a_stub(self, notebook: NotebookNode) -> None:
        text = shown(notebook, "%grader check model extern")
        assert "create_model is not solved yet: code cell 24, line" in text
        assert "Replace the placeholder code" in text


class TestTheLine:
    """What stands behind %grader."""

    def test_parts_are_listed_with_points_and_names(self, notebook: NotebookNode) -> None:
        table = shown(notebook, "%grader parts")
        assert "A layer in three ways (trio)" in table
        row = next(line for line in table.splitlines() if "create_extern_model" in line)
        assert ["extern", "create_extern_model", "10"] == [*row.split()[:2], row.split()[-1]]

    def test_a_misspelt_command_is_answered_with_a_sentence(self, notebook: NotebookNode) -> None:
        assert "%grader has no command 'chek'." in shown(notebook, "%grader chek")

    def test_an_unknown_part_is_answered_with_those_that_there_are(
        self, notebook: NotebookNode
    ) -> None:
        text = shown(notebook, "%grader check layer")
        assert "trio has no part 'layer'." in text
        assert "model, extern, schedule" in text

    def test_a_part_may_be_named_with_its_assignment(self, notebook: NotebookNode) -> None:
        assert "small has no part 'layer'." in shown(notebook, "%grader check small/layer")

    def test_html_says_the_same(self, notebook: NotebookNode) -> None:
        html = shown(notebook, "%grader check", "text/html")
        assert html.startswith('<div class="grader-answer" lang="en">')
        assert "24 of 30 points" in html
        assert "The outputs are right" in html

    def test_html_has_the_graph_that_can_be_folded(self, notebook: NotebookNode) -> None:
        html = shown(notebook, "%grader check extern", "text/html")
        assert '<details class="graph"' in html
        assert '<svg class="drawing"' in html

    def test_no_two_answers_of_a_notebook_have_the_same_id(self, notebook: NotebookNode) -> None:
        outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
        html = "".join(each.data.get("text/html", "") for each in outputs if "data" in each)
        ids = re.findall(r'\bid="([^"]*)"', html)
        assert len(ids) > 10
        assert len(set(ids)) == len(ids)

    def test_an_assignment_that_there_is_not_is_said_at_once(self, notebook: NotebookNode) -> None:
        text = shown(notebook, "%grader use nosuch")
        assert "no assignment called 'nosuch'" in text
        assert "small, tight, trio" in text

    def test_a_language_that_there_is_not_is_said_at_once(self, notebook: NotebookNode) -> None:
        """It was taken, and the answers were in English."""
        text = shown(notebook, "%grader use --lang xx")
        assert "There are no answers in 'xx'." in text
        assert "Known: en, zh, ko." in text

    def test_what_was_chosen_before_it_stays(self, notebook: NotebookNode) -> None:
        assert "(trio)" in shown(notebook, "%grader parts # still")

    def test_a_folder_without_assignments_is_said_at_once(self, notebook: NotebookNode) -> None:
        text = " ".join(shown(notebook, "%grader use trio --course nowhere").split())
        assert "No assignment was found" in text
        assert "%grader use trio --course DIR" in text


class TestLoading:
    """What was there before the extension."""

    def test_the_import_that_failed_before_tvm_is_named(self, tmp_path: Path) -> None:
        package = tmp_path / "torchvision.py"
        package.write_text("raise RuntimeError('operator torchvision::nms does not exist')\n")
        path = f"import sys\nsys.path.insert(0, {str(tmp_path)!r})"
        check = "%grader check"
        cells = path, "import torchvision\nimport tvm", LOAD, check
        notebook = run_notebook(tmp_path, *cells, tags=[[], ["raises-exception"]])
        text = " ".join(shown(notebook, check).split())
        assert "failed at `import torchvision`" in text
        assert "RuntimeError: operator torchvision::nms does not exist" in text
        assert "grader doctor" in text

    def test_an_interrupt_ends_the_check_and_no_more(self, late: NotebookNode) -> None:
        assert "was interrupted" in shown(late, INTERRUPTED)

    def test_nothing_is_checked_before_tvm_is_there(self, late: NotebookNode) -> None:
        assert "TVM is not imported" in shown(late, "%grader check small/model # too early")

    def test_an_extern_of_an_earlier_cell_is_named(self, late: NotebookNode) -> None:
        text = " ".join(shown(late, "%grader check extern").split())
        assert "`env.dense` was registered before %load_ext grader" in text

    def test_its_cell_run_again_mends_it(self, late: NotebookNode) -> None:
        text = shown(late, "%grader check extern # again")
        assert "registered before" not in text
        assert "4 of 10 points" in text

    def test_a_function_of_an_earlier_cell_is_said_to_be_of_that_cell(
        self, late: NotebookNode
    ) -> None:
        text = shown(late, "%grader check extern # again")
        assert "create_extern_model, built in code cell 8" in text


def test_nothing_is_checked_while_a_notebook_is_graded(tmp_path: Path, sandbox: Sandbox) -> None:
    look = "from IPython.utils.capture import capture_output\nwith capture_output() as said:\n"
    cells = (
        LOAD,
        f"{look}    get_ipython().run_line_magic('grader', 'check model')",
        "assert said.stdout == 'Left out while grading.\\n'",
        f"{look}    get_ipython().run_line_magic('grader', 'parts')",
        "assert said.stdout == ''",
        "import sys\nassert 'grader.selfcheck.magic' not in sys.modules",
    )
    report, _ = graded(tmp_path, sandbox, *cells)
    assert () == report.problems
    assert 6 == report.submission.executed


def test_the_language_is_the_one_that_is_asked_for(tmp_path: Path) -> None:
    cells = (IMPORTS, LOAD, "%grader use trio --lang zh", STUB, "%grader check model")
    notebook = run_notebook(tmp_path, *cells)
    assert "create_model" in shown(notebook, "%grader check model")
