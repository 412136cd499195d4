"""On a machine that lacks something a reference gets all points, or is refused with a sentence.

Both are right: what is wrong is a grade that is lower because of the machine.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from grader.report import Report, decode_report
from tests.dialects.untimed import notebook, untimed_course
from tests.endtoend.batches import LEVEL
from tests.endtoend.command import GRADER, ROOT
from tests.machine_lacks.hiding import LACKS, Lack, run_lacking, together

REFERENCES = sorted(path.parent.name for path in (ROOT / "examples").glob("*/reference.ipynb"))
TOUCHED = ("e2e-mlp",)
"""It calls externs, loads and draws images. All six meet all of it at once."""

ALL = together({name: each for name, each in LACKS.items() if name != "bubblewrap"})
EXPORT = """
import tvm
a = tvm.te.placeholder((4,), "float32", "a")
function = tvm.te.create_prim_func([a, tvm.te.compute((4,), lambda i: a[i] + 1.0)])
tvm.compile(tvm.IRModule({"main": function}), "llvm").export_library("library.so")
"""


def level_words() -> tuple[str, ...]:
    return ("--sandbox", LEVEL) if LEVEL else ()


def graded(
    hidden: Lack, works: Mapping[str, bytes], folder: Path
) -> tuple[int, Mapping[str, Report], str]:
    """Grade works side by side in the untimed course; return code, reports and all output."""
    course, inputs, output = (folder / name for name in ("course", "in", "out"))
    for each in (course, inputs):
        each.mkdir()
    untimed_course(course)
    for name, content in works.items():
        (inputs / f"{name}.ipynb").write_bytes(content)
    words = ("batch", inputs, "--course", course, "--data", "builtin", "--output", output)
    done = run_lacking(hidden, (GRADER, *words, *level_words()), folder)
    found = {name: output / f"{name}.json" for name in works}
    reports = {
        name: decode_report(path.read_bytes()) for name, path in found.items() if path.exists()
    }
    return done.returncode, reports, done.stdout + done.stderr


def refused_or_full(
    hidden: Lack, slugs: Sequence[str], folder: Path
) -> tuple[Mapping[str, str], str]:
    """Return what is wrong with the references' grades, by assignment, and all output."""
    works = {slug: (ROOT / "examples" / slug / "reference.ipynb").read_bytes() for slug in slugs}
    code, reports, output = graded(hidden, works, folder)
    if not reports:  # then nobody was graded
        return ({} if code == 2 and output.strip() else {"batch": f"exit code {code}"}), output
    wrong = {}
    for slug in slugs:
        report = reports[slug]
        if not report.parts:
            if code != 2 or not report.notes:
                wrong[slug] = "refused without a sentence, or with another exit code than 2"
        elif report.score != report.max_score:
            wrong[slug] = f"{report.score} of {report.max_score}"
    return wrong, output


def test_the_first_reference_gets_full_points_without_a_compiler(tmp_path: Path) -> None:
    """TVM had an empty library linked for a module of extern calls: 66 of 100."""
    work = ROOT / "examples" / "e2e-mlp" / "reference.ipynb"
    words = ("run", work, "--data", "builtin", "--json", "report.json", "--fail-under", "100")
    done = run_lacking(LACKS["compilers"], (GRADER, *words, *level_words()), tmp_path)
    assert (0, "") == (done.returncode, "" if done.returncode == 0 else done.stdout + done.stderr)
    problems = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))["problems"]
    assert [] == problems


@pytest.mark.graded
@pytest.mark.parametrize("name", LACKS)
def test_a_reference_loses_no_points_without_it(name: str, tmp_path: Path) -> None:
    wrong, output = refused_or_full(LACKS[name], TOUCHED, tmp_path)
    assert {} == wrong, output


@pytest.mark.graded
def test_no_reference_loses_points_without_all_of_it(tmp_path: Path) -> None:
    wrong, output = refused_or_full(ALL, REFERENCES, tmp_path)
    assert {} == wrong, output


def test_points_lost_for_want_of_a_compiler_are_not_counted(tmp_path: Path) -> None:
    work = {"e2e-mlp": notebook("e2e-mlp", [EXPORT])}
    code, reports, output = graded(LACKS["compilers"], work, tmp_path)
    assert 2 == code, output
    assert () == reports["e2e-mlp"].parts
    (note,) = reports["e2e-mlp"].notes
    assert "with a C compiler; this machine has none" in note.english


def test_the_doctor_tries_what_a_grading_needs(tmp_path: Path) -> None:
    done = run_lacking(ALL, (GRADER, "doctor"), tmp_path)
    assert 0 == done.returncode, done.stdout
    words = " ".join(done.stdout.split())
    assert "none: a notebook that exports a library" in words
    assert "a small notebook was run, and runners were started" in words
