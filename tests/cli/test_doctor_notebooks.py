"""`grader doctor`: what a student's own kernel cannot import, and where only a self-check is."""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from grader.cli import app
from grader.cli.doctor import (
    DETECTION,
    ENDED,
    IMPORTED,
    UNTRIED,
    Faults,
    ImportFault,
    find_faults,
    try_imports,
)
from grader.environment import FOR_GRADING, only_self_check
from grader.language import foreign

ROOT = Path(__file__).resolve().parents[2]
PINNED = {"apache-tvm": "0.27.0.post1", "apache-tvm-ffi": "0.1.14.post1"}
NO_OPERATOR = foreign("RuntimeError: operator torchvision::nms does not exist.")


def faults(alone: Faults, grading: Faults, **versions: str) -> list[ImportFault]:
    known = {**PINNED, **versions}
    return list(find_faults(alone, lambda: grading, known.__getitem__))


class TestFaults:
    """What is said of imports that fail."""

    def test_nothing_is_said_where_all_can_be_imported(self) -> None:
        assert [] == faults({}, {})

    def test_what_a_grading_makes_possible_fails_in_a_students_own_kernel(self) -> None:
        (found,) = faults({"torchvision": NO_OPERATOR}, {})
        assert f"torchvision cannot be imported: {NO_OPERATOR.english}" in found.message.english
        assert "A grading here can import it; a student's own kernel fails" in found.message.english
        assert found.hint.english.endswith("pip install --upgrade torchvision")

    def test_instructions_that_the_system_hides_end_a_students_own_kernel(self) -> None:
        (found,) = faults({DETECTION: foreign("avx512f avx512bw")}, {})
        assert "instructions that this system hides (avx512f avx512bw)" in found.message.english
        assert (
            "A grading here can leave them out; a student's own kernel fails"
            in found.message.english
        )
        assert "%load_ext grader" in found.hint.english

    def test_what_is_missing_altogether_fails_while_grading_too(self) -> None:
        missing = {"tvm.testing": foreign("ModuleNotFoundError: No module named 'pytest'")}
        (found,) = faults(missing, missing)
        assert "while they are graded as well" in found.message.english
        assert "pip install pytest" == found.hint.english

    def test_what_was_not_tried_is_not_said_to_fail(self) -> None:
        (found,) = faults({"tvm": UNTRIED, "tabulate": UNTRIED}, {})
        assert "It was not tried whether tvm, tabulate can be imported." == found.message.english

    def test_another_version_of_tvm_than_a_grading_has_is_named(self) -> None:
        (found,) = faults({}, {}, **{"apache-tvm-ffi": "0.1.15"})
        assert "apache-tvm-ffi is 0.1.15. A grading has 0.1.14.post1" in found.message.english
        assert "pip install apache-tvm-ffi==0.1.14.post1" == found.hint.english


def test_what_ends_the_interpreter_is_a_fault_and_what_follows_was_not_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "numpy.py").write_text("print('[1]')")
    (tmp_path / "torch.py").write_text("raise ValueError('no operator')")
    (tmp_path / "tvm.py").write_text("import os; os._exit(3)")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    found = try_imports(sys.executable, helped=False)
    assert "numpy" not in found
    assert "ValueError: no operator." == found["torch"].english
    assert ENDED == found["tvm"]
    assert UNTRIED == found["tvm.relax"]


def test_everything_that_the_courses_notebooks_import_is_tried() -> None:
    modules: set[str] = set()
    for path in (ROOT / "reference").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                modules |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                modules.add((node.module or "").partition(".")[0])
    tried = {name.partition(".")[0] for name in IMPORTED}
    assert {"torch", "tvm", "matplotlib"} <= modules
    assert set() == modules - tried - set(sys.stdlib_module_names) - {"IPython"}


class TestOnlyTheSelfCheck:
    """An installation without the extra `grading`."""

    def test_a_command_that_needs_more_says_how_to_install_it(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        def absent() -> None:
            raise ModuleNotFoundError("No module named 'nbclient'", name="nbclient")

        monkeypatch.setattr("grader.cli.commands.app", absent)
        monkeypatch.setattr("grader.environment.missing_for_grading", lambda: ("nbclient",))
        assert 2 == app._run(SimpleNamespace())
        said = capsys.readouterr().err
        assert "Only the self-check is installed here: grading needs nbclient, too." in said
        assert "pip install 'FILE.whl[grading]'" in said

    def test_nothing_is_graded_where_notebooks_could_not_import_what_they_do(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr(
            "grader.grading.preparation.missing_for_grading", lambda: ("torchsummary",)
        )
        notebook = ROOT / "examples/tensorir/reference.ipynb"
        monkeypatch.setattr(sys, "argv", ["grader", "run", str(notebook), "--data", "builtin"])
        assert 2 == app._run(SimpleNamespace())
        assert "grading needs torchsummary, too" in capsys.readouterr().err

    def test_each_package_is_named(self) -> None:
        assert "needs a, b, too" in only_self_check(["a", "b"]).message.english
        assert FOR_GRADING["jupyter_client"] == "jupyter-client"
