"""The committed notebooks, and the tool that makes them."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import nbformat
import numpy as np
import pytest
import tvm
from tvm import relax, te, topi
from tvm.script import relax as R  # noqa: N812
from tvm.script import tirx as T  # noqa: N812

from grader.authoring.marks import regions
from grader.authoring.template import read_master
from grader.course import load_course

ROOT = Path(__file__).resolve().parents[2]
SLUG = "e2e-conv"
COURSE_ASSIGNMENT = load_course(ROOT).get(SLUG)
MASTER = read_master(ROOT / "reference" / f"{SLUG}.py")
EXAMPLES = sorted((ROOT / "examples" / SLUG).glob("*.ipynb"))
COMMAND = [sys.executable, ROOT / "tools" / "build_notebooks.py"]


@pytest.fixture
def tool(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    return importlib.import_module("build_notebooks")


def cells(path, kind="code"):
    notebook = nbformat.read(path, as_version=4)
    return [cell.source for cell in notebook.cells if cell.cell_type == kind]


class TestCommitted:
    def test_notebooks_are_what_the_tool_makes_now(self, tool):
        assert tool.stale(tool.build()) == []

    def test_examples_are_all_made_by_the_tool(self, tool):
        made = {path.name for path in tool.build() if path.parent.name == SLUG}
        assert {path.name for path in EXAMPLES} == made

    def test_every_example_has_a_verdict_and_every_verdict_an_example(self):
        verdicts = {
            path.name.removesuffix(".verdict.toml")
            for path in (ROOT / "examples" / SLUG).glob("*.verdict.toml")
        }
        assert {path.stem for path in EXAMPLES} == verdicts


class TestTool:
    def test_checks_without_writing(self):
        done = subprocess.run([*COMMAND, "--check"], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (0, ""), done.stderr

    def test_names_files_that_are_missing_or_changed(self, tool, tmp_path):
        files = {Path("a/one.ipynb"): b"1", Path("a/two.ipynb"): b"2", Path("three.ipynb"): b"3"}
        tool.write(files, tmp_path)
        (tmp_path / "a/two.ipynb").write_bytes(b"changed")
        (tmp_path / "three.ipynb").unlink()
        assert tool.stale(files, tmp_path) == [Path("a/two.ipynb"), Path("three.ipynb")]


class TestTemplate:
    def test_has_no_line_that_only_the_solution_has(self):
        template = {
            line.strip()
            for source in cells(ROOT / "templates" / f"{SLUG}.ipynb")
            for line in source.splitlines()
        }
        for line, elsewhere in solution_lines():
            assert elsewhere or line not in template

    def test_asks_for_what_the_assignment_grades_and_says_the_points(self):
        text = "\n".join(cells(ROOT / "templates" / f"{SLUG}.ipynb", "markdown"))
        for part in COURSE_ASSIGNMENT.assignment.part:
            row = next(line for line in text.splitlines() if f"| `{part.entry[0]}` |" in line)
            assert row.endswith(f"| {part.points:g} |")


def solution_lines():
    """Give every line of a solution in the master, and whether it stands outside of one too."""
    inside, outside = set(), set()
    for cell in MASTER.cells:
        if cell.cell_type == "code":
            for region in regions(cell.source):
                lines = {line.strip() for line in region.lines}
                (inside if region.kind == "solution" else outside).update(lines)
    return [(line, line in outside) for line in inside if line]


@pytest.fixture(scope="module")
def scheduled():
    """Run the cells of parts 1 and 3 that the schedule depends on, with parameters of ones."""
    shapes = COURSE_ASSIGNMENT.load_oracle().PARAMETERS
    namespace = {"np": np, "relax": relax, "te": te, "topi": topi, "tvm": tvm, "R": R, "T": T}
    namespace |= {
        "input_shape": (4, 1, 28, 28),
        "parameters": {name: np.ones(shape, "float32") for name, (_, shape) in shapes.items()},
    }
    for marker in ("def create_model_via_emit_te", "sch = tvm.s_tir.Schedule(mod)"):
        source = next(cell.source for cell in MASTER.cells if marker in cell.source)
        exec(source.replace("sch.show()", ""), namespace)
        namespace["mod"] = namespace["create_model_via_emit_te"]()
    return namespace["sch"].mod


class TestReferenceSchedule:
    """The master's schedule is the one that `workload.py` measures submissions against."""

    @pytest.mark.parametrize("part", ["ax20", "ax21"])
    @pytest.mark.parametrize("step", ["init", "update"])
    def test_has_the_loops_of_the_workload(self, scheduled, part, step):
        workload, block = {}, f"conv2d_nchw_{part}_{step}"
        exec(COURSE_ASSIGNMENT.workload(), workload)
        reference = workload["reference"]("conv2d", 4, (32,), 4)
        assert loops(scheduled, block, "conv2d") == loops(reference, block, "main")

    def test_packs_the_input_as_the_workload_does(self, scheduled):
        workload = {}
        exec(COURSE_ASSIGNMENT.workload(), workload)
        reference = workload["reference"]("conv2d", 4, (32,), 4)
        assert loops(scheduled, "x_global", "conv2d") == loops(reference, "data_global", "main")

    def test_leaves_no_padding_block(self, scheduled):
        with pytest.raises(tvm.s_tir.ScheduleError):
            tvm.s_tir.Schedule(scheduled).get_sblock("pad_temp", func_name="conv2d")


def loops(module, block, function):
    """Return extent and kind of the loops around a block, outermost first."""
    schedule = tvm.s_tir.Schedule(module)
    found = schedule.get_loops(schedule.get_sblock(block, func_name=function))
    return [(int(schedule.get(loop).extent), int(schedule.get(loop).kind)) for loop in found]
