"""Broken submissions: a sentence for what could not be graded, full marks for what could."""

from __future__ import annotations

import shutil

import pytest

from tests.endtoend.cells import EMIT_TE, EXTERN, PRELUDE
from tests.endtoend.command import ROOT, run_grader, without_times, write_notebook

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
        assert "--assignment" in result.report.notes[0]

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

    @pytest.mark.parametrize(
        ("content", "sentence"),
        [(b"", "empty"), (b"not a notebook", "not JSON"), (b'{"cells": []}', "no code")],
    )
    def test_a_damaged_file_of_a_known_assignment_is_graded_with_zero(
        self, tmp_path, content, sentence
    ):
        path = tmp_path / "damaged.ipynb"
        path.write_bytes(content)
        result = run_grader(tmp_path, path, "--assignment", "e2e-conv")
        assert (0, 0, 100) == (result.code, result.report.score, result.report.max_score)
        assert sentence in result.part("emit_te").checks[0].reason
        assert_no_traceback(result)


class TestRightWorkKeepsItsMarks:
    def test_beside_a_missing_entry_point(self, tmp_path):
        path = write_notebook(tmp_path / "a.ipynb", PRELUDE, EMIT_TE)
        result = run_grader(tmp_path, path)
        assert 40 == result.part("emit_te").score
        assert "create_model_with_torch_func" in result.check("torch_extern", "equivalence").reason

    def test_in_a_notebook_of_format_3(self, tmp_path):
        import json

        cells = [
            {"cell_type": "code", "input": source, "language": "python", "outputs": []}
            for source in (PRELUDE, EMIT_TE)
        ]
        path = tmp_path / "old.ipynb"
        path.write_text(json.dumps({"nbformat": 3, "worksheets": [{"cells": cells}]}))
        result = run_grader(tmp_path, path)
        assert 40 == result.part("emit_te").score

    def test_before_an_entry_point_that_raises(self, tmp_path):
        broken = "def create_model_with_torch_func():\n    return weights['nowhere']"
        path = write_notebook(tmp_path / "a.ipynb", PRELUDE, EMIT_TE, broken)
        result = run_grader(tmp_path, path)
        assert (40, 0) == (result.part("emit_te").score, result.part("torch_extern").score)
        reason = result.check("torch_extern", "equivalence").reason
        assert "KeyError" in reason
        assert "cell 3" in reason
        assert_no_traceback(result)

    def test_before_an_entry_point_that_returns_no_module(self, tmp_path):
        broken = "def create_model_with_torch_func():\n    return [1, 2]"
        path = write_notebook(tmp_path / "a.ipynb", PRELUDE, EMIT_TE, broken)
        result = run_grader(tmp_path, path)
        assert 40 == result.part("emit_te").score
        assert "list" in result.check("torch_extern", "equivalence").reason

    def test_before_an_endless_loop(self, tmp_path, short_course):
        path = write_notebook(tmp_path / "a.ipynb", PRELUDE, EMIT_TE, "while True: pass", EXTERN)
        result = run_grader(tmp_path, path, "--course", short_course)
        assert (40, 0) == (result.part("emit_te").score, result.part("torch_extern").score)
        assert any("cell 3" in note.lower() for note in result.report.notes)
        assert_no_traceback(result)

    def test_before_a_kernel_that_dies(self, tmp_path):
        path = write_notebook(tmp_path / "a.ipynb", PRELUDE, EMIT_TE, "import os; os._exit(1)")
        result = run_grader(tmp_path, path)
        assert (0, 40) == (result.code, result.part("emit_te").score)
        assert any("cell 3" in note.lower() for note in result.report.notes)

    def test_beside_a_module_of_the_wrong_signature(self, tmp_path):
        wrong = emit_te_model("topi.nn.relu", (4, 784))
        path = write_notebook(tmp_path / "a.ipynb", PRELUDE, wrong, EXTERN)
        result = run_grader(tmp_path, path)
        assert (0, 30) == (result.part("emit_te").score, result.part("torch_extern").score)
        assert "(4, 784)" in result.check("emit_te", "equivalence").reason

    def test_beside_an_output_of_the_wrong_shape(self, tmp_path):
        wrong = emit_te_model("topi.nn.relu")
        path = write_notebook(tmp_path / "a.ipynb", PRELUDE, wrong, EXTERN)
        result = run_grader(tmp_path, path)
        assert (0, 30) == (result.part("emit_te").score, result.part("torch_extern").score)
        assert "shape" in result.check("emit_te", "equivalence").reason

    def test_beside_an_output_that_is_not_a_number(self, tmp_path):
        nan = EMIT_TE.replace(
            "tail(bb, lv)", "bb.emit_te(lambda a: topi.log(a - 2.0), tail(bb, lv))"
        )
        path = write_notebook(tmp_path / "a.ipynb", PRELUDE, nan, EXTERN)
        result = run_grader(tmp_path, path)
        assert 30 == result.part("torch_extern").score
        assert "NaN" in result.check("emit_te", "equivalence").reason


class TestWhatMayNotReachTvm:
    def test_a_call_of_a_c_function_is_refused_by_name(self, tmp_path):
        call = "te.compute((4, 10), lambda i, j: tvm.tirx.call_extern('float32', 'system', 'id'))"
        model = EMIT_TE.replace("tail(bb, lv)", f"bb.emit_te(lambda a: {call}, lv)")
        path = write_notebook(tmp_path / "a.ipynb", PRELUDE, model, EXTERN)
        result = run_grader(tmp_path, path)
        assert (0, 30) == (result.part("emit_te").score, result.part("torch_extern").score)
        assert "`system`" in result.check("emit_te", "equivalence").reason

    def test_a_packed_function_of_tvm_itself_is_refused_by_name(self, tmp_path):
        model = EXTERN.replace('"env.conv2d",\n', '"rpc.CreatePipeClient",\n')
        path = write_notebook(tmp_path / "a.ipynb", PRELUDE, EMIT_TE, model)
        result = run_grader(tmp_path, path)
        assert (40, 0) == (result.part("emit_te").score, result.part("torch_extern").score)
        assert "rpc.CreatePipeClient" in result.check("torch_extern", "equivalence").reason


class TestModulesWithoutTheirEntryPoint:
    def test_a_model_built_at_top_level_is_graded_under_its_own_name(self, tmp_path):
        body = EMIT_TE.replace("create_model_via_emit_te", "build")
        path = write_notebook(tmp_path / "a.ipynb", PRELUDE, body + "\nmodel = build()")
        result = run_grader(tmp_path, path, "--assignment", "e2e-conv")
        assert (40, "model") == (result.part("emit_te").score, result.part("emit_te").origin.name)


class TestRepeatability:
    def test_the_same_seed_gives_the_same_report_but_for_times(self, tmp_path):
        path = write_notebook(tmp_path / "a.ipynb", PRELUDE, EMIT_TE, EXTERN)
        first, second = (run_grader(tmp_path, path, "--seed", "7") for _ in range(2))
        assert without_times(first.report) == without_times(second.report)

    def test_a_score_below_the_threshold_is_exit_code_1(self, tmp_path):
        path = write_notebook(tmp_path / "a.ipynb", PRELUDE, EMIT_TE)
        assert 1 == run_grader(tmp_path, path, "--fail-under", "50").code
