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

from grader.authoring.master import find_master, has_master, master_languages, read_master, regions
from grader.authoring.template import (
    make_reference,
    paste_solutions,
    template_name,
)
from tests.our_course import our_course

ROOT = Path(__file__).resolve().parents[2]
SLUG = "e2e-conv"
COURSE = our_course()
COURSE_ASSIGNMENT = COURSE.get(SLUG)
SLUGS = [slug for slug in COURSE.assignments if has_master(ROOT, slug)]
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


@pytest.mark.parametrize("slug", SLUGS)
class TestTemplates:
    """The templates of every assignment, in every language of its master."""

    def test_have_no_line_that_only_the_solution_has(self, slug):
        hidden = solution_lines(masters(slug))
        assert hidden
        for path in templates(slug):
            lines = {line.strip() for source in cells(path) for line in source.splitlines()}
            assert set() == hidden & lines, path

    def test_are_the_solved_notebook_once_the_solutions_are_pasted_in(self, slug):
        master = masters(slug)
        for path, language in zip(templates(slug), master_languages(master), strict=True):
            template = nbformat.read(path, as_version=4)
            pasted = paste_solutions(template, master, language)
            reference = make_reference(master, slug, 1, language)
            expected = {cell.id: cell.source for cell in reference.cells}
            assert [expected[cell.id] for cell in pasted.cells] == [c.source for c in pasted.cells]
            assert template.cells != pasted.cells

    def test_have_the_same_cells_in_all_languages(self, slug):
        first, *others = [nbformat.read(path, as_version=4).cells for path in templates(slug)]
        for cells_there in others:
            assert [cell.id for cell in first] == [cell.id for cell in cells_there]
            assert [cell.cell_type for cell in first] == [cell.cell_type for cell in cells_there]
            assert first != cells_there

    def test_need_nothing_of_an_editor_and_say_what_they_are(self, slug):
        version = COURSE.get(slug).assignment.version
        languages = master_languages(masters(slug))
        for path, language in zip(templates(slug), languages, strict=True):
            metadata = dict(nbformat.read(path, as_version=4).metadata)
            declared = {"assignment": slug, "language": language, "version": version}
            assert declared == metadata.pop("grader")
            assert {"kernelspec", "language_info"} == set(metadata)


@pytest.mark.parametrize(
    "path", sorted((ROOT / "templates").glob(f"{SLUG}*")), ids=lambda p: p.stem
)
def test_a_template_asks_for_what_the_assignment_grades_and_says_the_points(path):
    text = "\n".join(cells(path, "markdown"))
    for part in COURSE_ASSIGNMENT.assignment.part:
        row = next(line for line in text.splitlines() if f"| `{part.entry[0]}` |" in line)
        assert row.endswith(f"| {part.points:g} |")


def masters(slug):
    return read_master(find_master(ROOT, slug))


def templates(slug):
    languages = master_languages(masters(slug))
    return [ROOT / "templates" / template_name(slug, language) for language in languages]


def solution_lines(master):
    """Give the lines that stand in solutions of the master and nowhere else."""
    inside, outside = {""}, {""}
    for cell in master.cells:
        if cell.cell_type == "code":
            for region in regions(cell.source):
                lines = {line.strip() for line in region.lines}
                (inside if region.kind == "solution" else outside).update(lines)
    return inside - outside


SHAPES = {"data": (4, 1, 28, 28), "weight": (32, 1, 3, 3)}
"""What the convolution takes."""


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
        reference = workload["reference"]("conv2d", SHAPES, 4)
        assert loops(scheduled, block, "conv2d") == loops(reference, block, "main")

    def test_packs_the_input_as_the_workload_does(self, scheduled):
        workload = {}
        exec(COURSE_ASSIGNMENT.workload(), workload)
        reference = workload["reference"]("conv2d", SHAPES, 4)
        assert loops(scheduled, "x_global", "conv2d") == loops(reference, "data_global", "main")

    def test_leaves_no_padding_block(self, scheduled):
        with pytest.raises(tvm.s_tir.ScheduleError):
            tvm.s_tir.Schedule(scheduled).get_sblock("pad_temp", func_name="conv2d")


def loops(module, block, function):
    """Return extent and kind of the loops around a block, outermost first."""
    schedule = tvm.s_tir.Schedule(module)
    found = schedule.get_loops(schedule.get_sblock(block, func_name=function))
    return [(int(schedule.get(loop).extent), int(schedule.get(loop).kind)) for loop in found]
