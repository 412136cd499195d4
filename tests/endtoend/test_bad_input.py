"""Broken submissions: a sentence for what could not be graded, full marks for what could.

What only a report says is graded in one batch; what is said by an exit code or on a terminal is
run by itself.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import nbformat
import pytest

from grader.report import encode_report
from tests.endtoend.batches import grade_batch
from tests.endtoend.cells import EMIT_TE, EXTERN, PRELUDE
from tests.endtoend.command import (
    ROOT,
    Result,
    make_notebook,
    run_grader,
    without_times,
    write_notebook,
)

pytestmark = pytest.mark.graded

MODEL = """
def {name}():
    bb = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor({shape}, "float32"))
    with bb.function("main", [x]):
        with bb.dataflow():
            gv = bb.emit_output(bb.emit_te({function}, x))
        bb.emit_func_output(gv)
    return bb.get()
"""


def emit_te_model(function: str, shape=(4, 1, 28, 28)) -> str:
    return MODEL.format(name="create_model_via_emit_te", shape=shape, function=function)


def extern_model(body: str) -> str:
    return f"def create_model_with_torch_func():\n    {body}"


CALL = "te.compute((4, 10), lambda i, j: tvm.tirx.call_extern('float32', 'system', 'id'))"
LOG = "bb.emit_te(lambda a: topi.log(a - 2.0), tail(bb, lv))"
BUILD = EMIT_TE.replace("create_model_via_emit_te", "build")

NOTEBOOKS = {
    "no_entry_point": (PRELUDE, EMIT_TE),
    "raises": (PRELUDE, EMIT_TE, extern_model("return weights['nowhere']")),
    "no_module": (PRELUDE, EMIT_TE, extern_model("return [1, 2]")),
    "dies": (PRELUDE, EMIT_TE, "import os; os._exit(1)"),
    "wrong_signature": (PRELUDE, emit_te_model("topi.nn.relu", (4, 784)), EXTERN),
    "wrong_shape": (PRELUDE, emit_te_model("topi.nn.relu"), EXTERN),
    "no_number": (PRELUDE, EMIT_TE.replace("tail(bb, lv)", LOG), EXTERN),
    "c_function": (
        PRELUDE,
        EMIT_TE.replace("tail(bb, lv)", f"bb.emit_te(lambda a: {CALL}, lv)"),
        EXTERN,
    ),
    "packed_function": (
        PRELUDE,
        EMIT_TE,
        EXTERN.replace('"env.conv2d",\n', '"rpc.CreatePipeClient",\n'),
    ),
    "right": (PRELUDE, EMIT_TE, EXTERN),
}
"""Cells of notebooks that say which assignment they are."""

DAMAGED = {
    "empty": (b"", "empty"),
    "no_json": (b"not a notebook", "not JSON"),
    "no_cells": (b'{"cells": []}', "no code"),
}
"""Files of a known assignment, and what is wrong with them."""


def notebook(*sources: str) -> bytes:
    return nbformat.writes(make_notebook(*sources)).encode()


def of_format_3(*sources: str) -> bytes:
    cells = [
        {"cell_type": "code", "input": source, "language": "python", "outputs": []}
        for source in sources
    ]
    return json.dumps({"nbformat": 3, "worksheets": [{"cells": cells}]}).encode()


Graded = dict[str, Result]


def grade(folder: Path, contents: dict[str, bytes], *options: str) -> Graded:
    batch = grade_batch(folder, contents, "--seed", "7", *options)
    return {name: batch.result(name) for name in contents}


@pytest.fixture(scope="module")
def graded(tmp_path_factory) -> Graded:
    """What a batch says of NOTEBOOKS, and of one whose format is older than its metadata."""
    contents = {name: notebook(*cells) for name, cells in NOTEBOOKS.items()}
    contents["format_3"] = of_format_3(PRELUDE, EMIT_TE)
    return grade(tmp_path_factory.mktemp("bad"), contents)


@pytest.fixture(scope="module")
def demanded(tmp_path_factory) -> Graded:
    """What a batch says whose assignment is demanded."""
    contents = {name: content for name, (content, _) in DAMAGED.items()}
    contents["top_level"] = notebook(PRELUDE, BUILD + "\nmodel = build()")
    return grade(tmp_path_factory.mktemp("demanded"), contents, "--assignment", "e2e-conv")


@pytest.fixture(scope="module")
def single(tmp_path_factory) -> Result:
    """What a run says of the right notebook, which may not get less than 71 of its points."""
    folder = tmp_path_factory.mktemp("single")
    (folder / "right.ipynb").write_bytes(notebook(*NOTEBOOKS["right"]))
    return run_grader(folder, "right.ipynb", "--seed", "7", "--fail-under", "71")


@pytest.fixture
def short_course(tmp_path):
    """A copy of the course whose cells may run for four seconds."""
    shutil.copytree(ROOT / "assignments", tmp_path / "course" / "assignments")
    path = tmp_path / "course" / "assignments" / "e2e-conv" / "assignment.toml"
    path.write_text(path.read_text().replace("cell_seconds = 120", "cell_seconds = 4"))
    return tmp_path / "course"


def assert_no_traceback(result):
    """Nothing of the grader's own failure may reach a student."""
    text = result.output + result.messages
    if result.report is not None:
        text += encode_report(result.report).decode()
    assert "Traceback" not in text
    assert "site-packages" not in text
    assert str(ROOT) not in text


class TestNothingToGrade:
    def test_no_file_is_exit_code_2_with_a_sentence(self, tmp_path):
        result = run_grader(tmp_path, tmp_path / "nowhere.ipynb")
        assert 2 == result.code
        assert "nowhere.ipynb" in result.messages
        assert (0, ()) == (result.report.score, result.report.parts)
        assert_no_traceback(result)

    def test_a_notebook_of_no_known_assignment_is_exit_code_2_with_a_next_step(self, tmp_path):
        path = write_notebook(tmp_path / "a.ipynb", "x = 1", grader={})
        result = run_grader(tmp_path, path)
        assert 2 == result.code
        assert "--assignment" in result.messages
        assert "--assignment" in result.report.notes[0].english

    def test_a_report_that_cannot_be_written_is_refused_at_once(self, tmp_path):
        path = write_notebook(tmp_path / "a.ipynb", "x = 1")
        result = run_grader(tmp_path, path, "--json", tmp_path / "no" / "folder.json")
        assert 2 == result.code
        assert "Cannot write" in result.messages

    def test_missing_data_is_exit_code_2(self, tmp_path):
        path = write_notebook(tmp_path / "a.ipynb", "x = 1")
        result = run_grader(tmp_path, path, "--data", tmp_path)
        assert 2 == result.code
        assert_no_traceback(result)

    @pytest.mark.parametrize("name", DAMAGED)
    def test_a_damaged_file_of_a_known_assignment_is_graded_with_zero(self, demanded, name):
        result = demanded[name]
        assert (0, 100) == (result.report.score, result.report.max_score)
        assert DAMAGED[name][1] in result.part("emit_te").checks[0].reason.english
        assert_no_traceback(result)


class TestRightWorkKeepsItsMarks:
    def test_beside_a_missing_entry_point(self, graded):
        result = graded["no_entry_point"]
        assert 40 == result.part("emit_te").score
        assert (
            "create_model_with_torch_func"
            in result.check("torch_extern", "equivalence").reason.english
        )

    def test_in_a_notebook_of_format_3(self, graded):
        assert 40 == graded["format_3"].part("emit_te").score

    def test_before_an_entry_point_that_raises(self, graded):
        result = graded["raises"]
        assert (40, 0) == (result.part("emit_te").score, result.part("torch_extern").score)
        reason = result.check("torch_extern", "equivalence").reason.english
        assert "KeyError" in reason
        assert "code cell 3" in reason
        assert_no_traceback(result)

    def test_before_an_entry_point_that_returns_no_module(self, graded):
        result = graded["no_module"]
        assert 40 == result.part("emit_te").score
        assert "list" in result.check("torch_extern", "equivalence").reason.english

    def test_before_and_after_an_endless_loop(self, tmp_path, short_course):
        path = write_notebook(tmp_path / "a.ipynb", PRELUDE, EMIT_TE, "while True: pass", EXTERN)
        result = run_grader(tmp_path, path, "--course", short_course)
        assert 0 == result.code
        assert (40, 30) == (result.part("emit_te").score, result.part("torch_extern").score)
        assert any("code cell 3" in note.english.lower() for note in result.report.notes)
        assert "Traceback" not in result.output + result.messages  # the cell's own is kept

    def test_before_a_kernel_that_dies(self, graded):
        result = graded["dies"]
        assert (100, 40) == (result.report.max_score, result.part("emit_te").score)
        assert any("code cell 3" in note.english.lower() for note in result.report.notes)

    def test_beside_a_module_of_the_wrong_signature(self, graded):
        result = graded["wrong_signature"]
        assert (0, 30) == (result.part("emit_te").score, result.part("torch_extern").score)
        assert "(4, 784)" in result.check("emit_te", "equivalence").reason.english

    def test_beside_an_output_of_the_wrong_shape(self, graded):
        result = graded["wrong_shape"]
        assert (0, 30) == (result.part("emit_te").score, result.part("torch_extern").score)
        assert "shape" in result.check("emit_te", "equivalence").reason.english

    def test_beside_an_output_that_is_not_a_number(self, graded):
        result = graded["no_number"]
        assert 30 == result.part("torch_extern").score
        assert "NaN" in result.check("emit_te", "equivalence").reason.english


class TestWhatMayNotReachTvm:
    def test_a_call_of_a_c_function_is_refused_by_name(self, graded):
        result = graded["c_function"]
        assert (0, 30) == (result.part("emit_te").score, result.part("torch_extern").score)
        assert "`system`" in result.check("emit_te", "equivalence").reason.english

    def test_a_packed_function_of_tvm_itself_is_refused_by_name(self, graded):
        result = graded["packed_function"]
        assert (40, 0) == (result.part("emit_te").score, result.part("torch_extern").score)
        assert "rpc.CreatePipeClient" in result.check("torch_extern", "equivalence").reason.english


class TestModulesWithoutTheirEntryPoint:
    def test_a_model_built_at_top_level_is_graded_under_its_own_name(self, demanded):
        part = demanded["top_level"].part("emit_te")
        assert (40, "model") == (part.score, part.origin.name)


class TestExitCode:
    def test_it_is_0_where_all_were_graded_whatever_they_got(self, graded, demanded):
        assert {0} == {result.code for result in (*graded.values(), *demanded.values())}

    def test_it_is_1_for_a_score_below_the_threshold(self, single):
        assert (1, 70) == (single.code, single.report.score)


class TestRepeatability:
    def test_the_same_seed_gives_the_same_report_but_for_times(self, graded, single):
        """By itself, and in a batch beside others."""
        assert 7 == single.report.seed
        assert without_times(graded["right"].report) == without_times(single.report)
