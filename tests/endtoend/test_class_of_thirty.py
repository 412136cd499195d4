"""The class of `examples/class`, by the commands of the documents, from each archive and back."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.endtoend.command import ROOT
from tests.endtoend.examples import on_few_inputs
from tests.endtoend.warm import run_warm
from tests.expectation import load_expectation
from tests.gradebook.postgres import new_database, running_server
from tests.lms import imports
from tools.make_class import ABSENT, CLASS, FORMS, NOTES, SLUG, STUDENTS, make_class, stale

FOLDER = ROOT / CLASS
ROSTER = FOLDER / "roster.csv"
EXAMPLES = ROOT / "examples" / SLUG
DUE = "points = 100\ndue = 2026-12-01T23:00:00Z\n"
LATE = "[late]\npercent = 10\nmost_percent = 50\n\n[arguments]"
NAMESAKES = {"chen1", "chen2"}
TIMED_OUT = 1800


def expected_points() -> dict[str, Decimal]:
    """What each example is due, by the student who hands it in."""
    found = {}
    for each in STUDENTS:
        if each.example:
            due = load_expectation(EXAMPLES / f"{each.example}.verdict.toml").score
            assert isinstance(due, int | float)
            found[each.login] = Decimal(str(due))
    return found


def test_what_is_committed_is_what_the_tool_makes() -> None:
    assert [] == stale(make_class(), FOLDER)


@pytest.mark.parametrize("form", FORMS)
def test_every_archive_gives_each_student_what_was_handed_in(form: str, tmp_path: Path) -> None:
    words = ("collect", FOLDER / f"{form}.zip", "--roster", ROSTER, "--output", "class", "--json")
    done = run_warm(words, tmp_path)
    told = json.loads(done.stdout)
    unmatched = NAMESAKES if form == "brightspace" else set()
    assert (1 if unmatched else 0) == done.returncode, done.stderr
    assert {ABSENT, *unmatched} == set(told["absent"])
    assert len(unmatched) == len(told["unmatched"])
    for student in STUDENTS:
        if student.login in {ABSENT, NOTES, *unmatched}:
            continue
        (notebook,) = (tmp_path / "class" / "submissions" / student.login).rglob("*.ipynb")
        assert (EXAMPLES / f"{student.example}.ipynb").read_bytes() == notebook.read_bytes()


class Course(NamedTuple):
    """A course's folder, and where its gradebook is."""

    folder: Path
    environment: Mapping[str, str]

    def grader(self, *words: str | Path, code: int = 0) -> subprocess.CompletedProcess[str]:
        done = run_warm(words, self.folder, self.environment, TIMED_OUT)
        assert code == done.returncode, (words, done.stdout, done.stderr)
        return done

    def export(self, form: str, *words: str | Path) -> bytes:
        output = self.folder / f"exported-{form}"
        self.grader("export", form, "--assignment", SLUG, *words, "-o", output)
        return output.read_bytes()

    def grades(self) -> dict[str, Decimal]:
        """The grades of those who have one, by login."""
        told = json.loads(
            self.grader("grades", "list", SLUG, "--json", "-").stdout, parse_float=Decimal
        )
        found = {each["student"]: each["grades"].get(SLUG) for each in told["students"]}
        return {
            who: Decimal(each["points"])
            for who, each in found.items()
            if each is not None and each["points"] is not None
        }

    def change_rubric(self) -> None:
        """Let one check of the second part count ten points more."""
        table = self.folder / "assignments" / SLUG / "assignment.toml"
        text = table.read_text().replace("points = 100\n", "points = 110\n")
        before, part, after = text.partition('id = "module"')
        changed = after.replace("points = 18\n", "points = 28\n", 1)
        assert changed != after
        table.write_text(before + part + changed)


def make_course(folder: Path, url: str = "") -> Course:
    """A course with e2e-mlp alone, which has a due date and takes points for lateness.

    Its parts are run on few inputs.
    """
    wanted = folder / "assignments" / SLUG
    leave = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "assignments" / SLUG, wanted, ignore=leave)
    table = wanted / "assignment.toml"
    text = table.read_text().replace("points = 100\n", DUE).replace("[arguments]", LATE, 1)
    table.write_text(on_few_inputs(text))
    return Course(folder, {"GRADER_GRADEBOOK": url} if url else {})


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Course:
    """The class graded once, from Gradescope's archive, which tells times."""
    course = make_course(tmp_path_factory.mktemp("graded"))
    course.grader("collect", FOLDER / "gradescope.zip", "--roster", ROSTER, "--output", "class")
    words = ("class/submissions", "--output", "reports", "--data", "builtin")
    course.grader("batch", *words, code=2)  # one has handed in nothing that can be graded
    return course


@pytest.fixture(params=["sqlite", "postgresql"])
def course(request: pytest.FixtureRequest, graded: Course, tmp_path: Path) -> Iterator[Course]:
    """A copy of what was graded, and a gradebook that is not there yet."""
    with running_server() if request.param == "postgresql" else nullcontext("") as server:
        found = make_course(tmp_path / "course", new_database(server) if server else "")
        for name in ("class", "reports"):
            shutil.copytree(graded.folder / name, found.folder / name)
        yield found


@pytest.mark.graded
def test_a_class_goes_the_whole_way(course: Course) -> None:
    course.grader("course", "init")
    course.grader("roster", "import", ROSTER)
    words = ("class/submissions", "--output", "reports", "--data", "builtin")
    done = course.grader("batch", *words, "--handed-in", "class/collected.json", code=2)
    assert "28" in done.stdout

    late = {"dara": 10, "ines": 20, "olga": 50, "ulla": 10}
    due = {
        who: points * (100 - late.get(who, 0)) / 100 for who, points in expected_points().items()
    }
    assert due == course.grades()

    course.grader("grades", "adjust", "anais", SLUG, "--points", "+2.5", "--reason", "wrong hint")
    course.grader("grades", "extend", "dara", SLUG, "2026-12-03T00:00Z", "--reason", "ill")
    due |= {"anais": due["anais"] + Decimal("2.5"), "dara": Decimal(80)}
    assert due == course.grades()

    course.change_rubric()
    moved = course.grader("regrade", "--changed", "--data", "builtin").stdout
    assert "recomputed" in " ".join(moved.split())
    grades = course.grades()
    assert (Decimal(110), Decimal("43.61")) == (grades["amal"], grades["anais"])
    assert {who: due[who] for who in ("kwame", "zoe")} == {
        who: grades[who] for who in ("kwame", "zoe")
    }

    _is_exported(course, grades)
    _is_handed_back(course)


def _is_exported(course: Course, grades: Mapping[str, Decimal]) -> None:
    """Each system reads the grades that the gradebook has, scaled to its own maximum."""
    by_login = {each.login: each for each in STUDENTS}

    def scaled(maximum: int) -> dict[str, Decimal]:
        return {who: round(points * maximum / 110, 2) for who, points in grades.items()}

    own = course.export("canvas", "--into", FOLDER / "canvas.csv", "--column", "Perceptron")
    read = imports.read_canvas(own, "Perceptron")
    assert {str(by_login[w].number): p for w, p in scaled(50).items()} == read
    worksheet = FOLDER / "moodle.csv"
    own = course.export("moodle", "--into", worksheet)
    read = imports.read_moodle(own, worksheet.read_bytes())
    assert {str(by_login[w].number + 4000): p for w, p in scaled(100).items()} == read
    read = imports.read_gradescope(course.export("gradescope"))
    assert {f"s{by_login[w].number}": p for w, p in grades.items()} == read
    read = imports.read_classroom(course.export("classroom"))
    assert {f"gh-{w}": p for w, p in grades.items()} == read
    assert grades == imports.read_csv(course.export("csv"))
    assert grades == imports.read_json(course.export("json"))


def _is_handed_back(course: Course) -> None:
    """The pages say the grade of the gradebook, under the names by which a system takes them."""
    by_login = {each.login: str(each.number) for each in STUDENTS}
    for form in ("canvas", "moodle"):
        course.grader("collect", FOLDER / f"{form}.zip", "--roster", ROSTER, "--output", form)
        words = ("--assignment", SLUG, "--collected", form, "--zip", form)
        course.grader("feedback", *words, "--output", f"{form}-feedback.zip")
    packed = (course.folder / "canvas-feedback.zip").read_bytes()
    pages = imports.read_feedback_of_canvas(packed, (FOLDER / "canvas.zip").read_bytes())
    assert {by_login[each.login] for each in STUDENTS if each.example} == set(pages)
    assert "27.5 of 110" in pages[by_login["olga"]]
    packed = (course.folder / "moodle-feedback.zip").read_bytes()
    assert len(pages) == len(imports.read_feedback_of_moodle(packed))
    course.grader("feedback", "--assignment", SLUG, "--output", "pages")
    written = {path.stem for path in (course.folder / "pages").iterdir()}
    assert {each.login for each in STUDENTS if each.example} == written
