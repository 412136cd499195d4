"""The master of tensorir: the target that it shows is the one that is graded."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
import tvm
import tvm_ffi
from tvm.script import ir as I  # noqa: N812
from tvm.script import tirx as T  # noqa: N812

from grader.authoring.master import read_master
from grader.authoring.template import make_reference
from tests.our_course import our_course

ROOT = Path(__file__).resolve().parents[2]
COURSE_ASSIGNMENT = our_course().get("tensorir")
MASTER = read_master(ROOT / "reference" / "tensorir.py")
EXAMPLES = ROOT / "examples" / "tensorir"


def solved(marker):
    """Return the text of the solved notebook's cell that holds `marker`."""
    cells = make_reference(MASTER, "tensorir", 1).cells
    return next(cell.source for cell in cells if marker in cell.source)


def graded_target():
    workload = {}
    exec(COURSE_ASSIGNMENT.workload(), workload)
    return plain(workload["target"]()["main"])


def plain(function):
    """Return a function without its name, and without the promise that buffers do not overlap."""
    return function.without_attr("global_symbol").without_attr("tirx.noalias")


class TestTarget:
    def test_the_one_that_is_shown_is_the_one_that_is_graded(self):
        text = solved("class Target:").split('"""')[1]
        shown = tvm.script.from_source(text, {"I": I, "T": T})["bmm_relu"]
        assert tvm_ffi.structural_equal(graded_target(), plain(shown))

    def test_the_solution_arrives_at_it(self):
        module = tvm.script.from_source(solved("class MyBmmRelu:"), {"I": I, "T": T})
        namespace = {"tvm": tvm, "MyBmmRelu": module}
        exec(solved("sch = tvm.s_tir.Schedule").replace("sch.show()", ""), namespace)
        found = namespace["sch"].mod["bmm_relu"]
        assert tvm_ffi.structural_equal(graded_target(), plain(found))


class TestNotebooks:
    @pytest.mark.parametrize(
        "path", sorted((ROOT / "templates").glob("tensorir*")), ids=lambda path: path.stem
    )
    def test_a_template_says_names_and_points_of_the_parts(self, path):
        cells = nbformat.read(path, as_version=4).cells
        text = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
        for part in COURSE_ASSIGNMENT.assignment.part:
            row = next(line for line in text.splitlines() if f"| `{part.entry[0]}` |" in line)
            assert row.endswith(f"| {part.points:g} |")

    def test_every_example_has_a_verdict_and_every_verdict_an_example(self):
        verdicts = {path.name.split(".")[0] for path in EXAMPLES.glob("*.verdict.toml")}
        assert verdicts == {path.stem for path in EXAMPLES.glob("*.ipynb")}
        assert len(verdicts) >= 11
