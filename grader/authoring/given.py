"""Finding out what an assignment gives: its template and its handouts are run like submissions."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from nbformat import NotebookNode

from grader.assignment_files import GivenForms
from grader.authoring.master import find_master, has_master, read_master
from grader.authoring.template import make_template
from grader.course import CourseAssignment
from grader.errors import IRError
from grader.grading.judge import computes
from grader.grading.pipeline import compare_captures, run_notebook
from grader.grading.preparation import Preparation, Settings
from grader.ir.read import read_module
from grader.messages.kernel import Capture
from grader.progress import Silent
from grader.reading.submission import parse_content


def collect_given(
    root: Path,
    chosen: CourseAssignment,
    settings: Settings,
    *,
    handouts: Iterable[Path] = (),
    targets: Iterable[bytes] = (),
) -> GivenForms:
    """Return the forms of what an assignment of the course at `root` gives.

    Read are the modules of its English template, `targets` as graph JSON, and handouts: notebooks,
    scripts or Markdown. What of a handout computes a part is shown, all else is given. Raises
    GraderError for files that cannot be read.
    """
    prepared = Preparation(chosen, settings)
    given = {form for target in targets for form in forms_of(target)}
    if has_master(root, chosen.assignment.slug):
        given |= {form for each in _captures(_template(root, chosen), prepared) for form in each[1]}
    shown: set[str] = set()
    beside: set[str] = set()
    for path in handouts:
        notebook = parse_content(path.read_bytes(), path.suffix)
        for capture, forms in _captures(notebook, prepared):
            (shown if _is_answer(capture, prepared) else beside).update(forms)
    return GivenForms(frozenset(given | (beside - shown)), frozenset(shown - given))


def forms_of(document: bytes) -> frozenset[str]:
    """Return the form of a module's `main`, or of each function; none of what is damaged."""
    try:
        facts = read_module(document, ("*",))
    except IRError:
        return frozenset()
    if facts.has_main:
        return frozenset({facts.form})
    return frozenset(each.form for each in facts.functions.values())


def _template(root: Path, chosen: CourseAssignment) -> NotebookNode:
    assignment = chosen.assignment
    master = read_master(find_master(root, assignment.slug))
    return make_template(master, assignment.slug, assignment.version, "en")


def _captures(
    notebook: NotebookNode, prepared: Preparation
) -> list[tuple[Capture, frozenset[str]]]:
    found = run_notebook(notebook, prepared, Silent()).captures
    modules = [each for each in found if isinstance(each, Capture) and each.module]
    return [(each, forms_of(each.module)) for each in modules]


def _is_answer(capture: Capture, prepared: Preparation) -> bool:
    compared = compare_captures((capture,), prepared, Silent())
    return any(computes(part, graded[0]) for part, graded in compared if part.id == capture.part)
