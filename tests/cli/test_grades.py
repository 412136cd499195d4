"""`grader course`, `roster` and `grades`, typed as docs/gradebook.md has them."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from grader.gradebook.book import Gradebook
from grader.gradebook.database import open_database
from grader.gradebook.entries import find_student
from tests.cli.test_batch import RIGHT, write
from tests.endtoend.warm import run_warm
from tests.gradebook.factory import SLUG, enrol, hand_in
from tests.gradebook.small_class import Class

ROOT = Path(__file__).parents[2]
ROSTER = (
    "id,name,email,section\nada,Ada Lovelace,a@x.org,A\nleilei,李雷,l@x.org,B\nk,Kim,,\nm,Kim,,\n"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A course's folder with a gradebook, in which one has handed in twice."""
    folder = tmp_path_factory.mktemp("course")
    (folder / "assignments").mkdir()
    (folder / "assignments" / SLUG).symlink_to(ROOT / "assignments" / SLUG)
    (folder / "roster.csv").write_text(ROSTER, encoding="utf-8")
    assert "Next: grader roster import FILE" in said(folder, "course", "init")
    assert "4 new" in said(folder, "roster", "import", "roster.csv")
    book = Gradebook(open_database(f"sqlite:///{folder / 'gradebook.sqlite'}"))
    ada = find_student(book.students(), "ada")
    hand_in(book, ada, b"first", 60)
    hand_in(book, ada, b"second")
    book.close()
    return folder


def test_the_next_step_is_what_the_gradebook_lacks(tmp_path: Path) -> None:
    (tmp_path / "assignments").mkdir()
    (tmp_path / "assignments" / SLUG).symlink_to(ROOT / "assignments" / SLUG)
    (tmp_path / "roster.csv").write_text(ROSTER, encoding="utf-8")
    told = [said(tmp_path, "course", "init")]
    said(tmp_path, "roster", "import", "roster.csv")
    told.append(said(tmp_path, "course", "init"))
    book = Gradebook(open_database(f"sqlite:///{tmp_path / 'gradebook.sqlite'}"))
    hand_in(book, find_student(book.students(), "ada"), b"first", 60)
    book.close()
    told.append(said(tmp_path, "course", "init"))
    (tmp_path / "roster.csv").write_text("id,name\n")
    said(tmp_path, "roster", "import", "roster.csv", "--withdraw")
    told.append(said(tmp_path, "course", "init"))
    assert [
        "Next: grader roster import FILE",
        "Next: grader batch SUBMISSIONS --output reports",
        "Next: grader grades list",
        "Next: grader roster import FILE",
    ] == [each.splitlines()[-1] for each in told]


def call(folder: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return run_warm(words, folder, {"COLUMNS": "100", **environment})


def said(folder: Path, *words: str) -> str:
    done = call(folder, *words)
    assert 0 == done.returncode, done.stderr
    return done.stdout


def found(folder: Path, *words: str) -> Any:
    return json.loads(said(folder, *words, "--json", "-"))


def refused(folder: Path, *words: str, **environment: str) -> str:
    done = call(folder, *words, **environment)
    assert (2, "") == (done.returncode, done.stdout)
    return done.stderr


def test_everybody_is_listed_with_a_dash_for_no_grade(folder: Path) -> None:
    lines = [line.split() for line in said(folder, "grades", "list", SLUG).splitlines()]
    assert ["ada", "Ada", "Lovelace", "A", "77.5"] in lines
    assert ["leilei", "李雷", "B", "–"] in lines
    rows = {each["student"]: each for each in found(folder, "grades", "list")["students"]}
    assert 77.5 == rows["ada"]["grades"][SLUG]["points"]
    assert {} == rows["leilei"]["grades"]
    assert ["leilei"] == [
        each["student"] for each in found(folder, "grades", "list", "--section", "B")["students"]
    ]


def test_a_student_is_shown_with_all_attempts(folder: Path) -> None:
    output = said(folder, "grades", "show", "a@x.org")
    assert "attempt 2: hw.ipynb" in output
    attempts = found(folder, "grades", "show", "ada")["assignments"][SLUG]["attempts"]
    assert [60, 77.5] == [each["gradings"][0]["score"] for each in attempts]


def test_adjusting_explains_itself_and_can_be_taken_back(folder: Path) -> None:
    words = ("grades", "adjust", "ada", SLUG)
    part = (*words, "--part", "schedule", "--points", "-2.5", "--reason", "too late", "--by", "eve")
    assert f"ada, {SLUG}: 77.5 before, 75 now." in said(folder, *part)
    lines = found(folder, "grades", "explain", "ada", SLUG)["lines"]
    assert any("Part schedule: -2.5 gives 20; adjustment 1 by eve" in line for line in lines)
    back = found(folder, *words, "--take-back", "1", "--reason", "no")
    assert (75, 77.5, 1) == (back["before"], back["after"], back["takes_back"])


def test_a_grade_is_explained_in_the_students_language(folder: Path) -> None:
    assert "成绩：77.5 分，满分 100 分。" in said(
        folder, "grades", "explain", "ada", SLUG, "--lang", "zh"
    )
    assert "Attempt 2 counts" in said(folder, "grades", "explain", "ada", SLUG)
    assert "nothing has been graded" in said(folder, "grades", "explain", "李雷", SLUG)


def test_an_extension_is_a_day_to_its_end(folder: Path) -> None:
    given = ("grades", "extend", "leilei", SLUG)
    assert "2026-12-05T23:59:59" in found(folder, *given, "2026-12-05", "--reason", "ill")["due"]
    assert "Due: 2026-12-06 08:00:00+01:00" in said(
        folder, *given, "2026-12-06T08:00+01:00", "--reason", "ill"
    )
    assert "Due: no due date" in said(folder, *given, "--take-back", "--reason", "well")
    assert "no extension to take back" in refused(folder, *given, "--take-back", "--reason", "well")


def test_the_class_is_summed_up(folder: Path) -> None:
    numbers = found(folder, "grades", "stats", SLUG)[SLUG]
    assert (1, 77.5, 77.5) == (numbers["graded"], numbers["median"], numbers["mean"])
    assert {"emit_te": 40, "torch_extern": 15, "schedule": 22.5} == numbers["parts"]
    assert "77.5" in said(folder, "grades", "stats")


def test_json_is_written_to_a_file_beside_the_words(folder: Path) -> None:
    assert "Ada" in said(folder, "grades", "list", "--json", "grades.json")
    assert json.loads((folder / "grades.json").read_text("utf-8"))["students"]


def test_a_roster_is_tried_before_it_is_read(folder: Path) -> None:
    (folder / "new.csv").write_text("id,email\nada,new@x.org\n")
    tried = found(folder, "roster", "import", "new.csv", "--dry-run")
    assert ({"email": ["a@x.org", "new@x.org"]}, False) == (
        tried["changed"]["ada"],
        tried["written"],
    )
    assert ["k", "leilei", "m"] == sorted(tried["missing"])
    assert "a@x.org" in said(folder, "grades", "show", "ada")


@pytest.fixture
def own(folder: Path, tmp_path: Path) -> Path:
    """A copy of the folder, for a test that changes it."""
    return shutil.copytree(folder, tmp_path / "own", symlinks=True)


def test_a_trial_with_withdraw_does_not_say_that_they_have(own: Path) -> None:
    (own / "new.csv").write_text("id,name\nada,Ada\n")
    words = ("roster", "import", "new.csv", "--withdraw")
    assert "With --withdraw, they are marked as withdrawn." in said(own, *words, "--dry-run")
    assert "They have withdrawn." in said(own, *words)


def test_a_roster_in_which_nobody_is_known_is_told(own: Path) -> None:
    """It is another term's, or has the ids of another system: the class would be there twice."""
    (own / "new.csv").write_text("id,name\ns1,Ada\ns2,Min\n")
    words = ("roster", "import", "new.csv", "--dry-run")
    assert "None of the gradebook's students is in new.csv." in said(own, *words)
    (own / "new.csv").write_text("id,name\ns1,Ada\nada,Ada\n")
    assert "None of" not in said(own, *words)
    # one who is known, and has nothing new but a number of Canvas
    (own / "new.csv").write_text("id,name,email,section,canvas id\nada,Ada Lovelace,a@x.org,A,7\n")
    assert "None of" not in said(own, *words)


def test_an_e_mail_of_several_is_told(own: Path) -> None:
    (own / "new.csv").write_text("id,email\nk,a@x.org\nzoe,A@x.org\n")
    told = said(own, "roster", "import", "new.csv", "--dry-run").splitlines()
    assert "The e-mail a@x.org belongs to several students: ada, k, zoe." in told
    remedy = "name folders by roster ids, or correct the roster."
    assert f"A shared e-mail matches nobody: {remedy}" in told
    written = found(own, "roster", "import", "new.csv")
    assert {"a@x.org": ["ada", "k", "zoe"]} == written["shared_emails"]
    assert "3 students match 'a@x.org'" in refused(own, "grades", "show", "a@x.org")
    (own / "new.csv").write_text("id,email\nk,k@x.org\nzoe,\n")
    assert "several" not in said(own, "roster", "import", "new.csv")


def test_many_e_mails_of_several_are_counted(own: Path) -> None:
    lines = (f"{kind}{at},{at}@x.org" for at in range(12) for kind in "pq")
    (own / "new.csv").write_text("\n".join(("id,email", *lines)))
    told = said(own, "roster", "import", "new.csv")
    assert (10, 1) == (
        told.count("belongs to several"),
        told.count("The same holds for 2 more e-mails."),
    )


def test_an_assignment_that_nobody_has_handed_in_takes_no_room(own: Path) -> None:
    (own / "assignments" / "e2e-mlp").symlink_to(ROOT / "assignments" / "e2e-mlp")
    table, _, rest = said(own, "grades", "list").partition("No submissions for e2e-mlp.")
    assert SLUG in table and "e2e-mlp" not in table and "with a grade" in rest
    rows = found(own, "grades", "list")["assignments"]
    assert {SLUG, "e2e-mlp"} == {each["slug"] for each in rows}


def test_who_is_forgotten_is_gone(folder: Path) -> None:
    assert "add --yes" in refused(folder, "grades", "forget", "m")
    assert "m is forgotten." in said(folder, "grades", "forget", "m", "--yes")
    assert "name 'm'" in refused(folder, "grades", "show", "m")


@pytest.mark.parametrize(
    ("words", "words_said"),
    [
        (("show", "eve"), "No student in the roster has the id, e-mail or name 'eve'."),
        (("explain", "ada", "softmax"), f"Known: {SLUG}."),
        (("adjust", "ada", SLUG, "--reason", "x"), "Give --points, --factor or --take-back."),
        (("adjust", "ada", SLUG, "--points", "1"), "There is no reason."),
        (("adjust", "ada", SLUG, "--points", "nan", "--reason", "x"), "'nan' is not a number"),
        (("adjust", "ada", SLUG, "--points", "1.00001", "--reason", "x"), "at most 4 decimals"),
        (("adjust", "ada", SLUG, "--factor", "-1", "--reason", "x"), "must not be negative"),
        (
            ("adjust", "ada", SLUG, "--points", "1", "--part", "p", "--reason", "x"),
            "It has emit_te",
        ),
        (
            ("adjust", "ada", SLUG, "--points", "1", "--attempt", "9", "--reason", "x"),
            "no attempt 9",
        ),
        (("adjust", "ada", SLUG, "--take-back", "99", "--reason", "x"), "not belong to this grade"),
        (("adjust", "leilei", SLUG, "--points", "1", "--reason", "x"), "no graded attempt"),
        (("extend", "ada", SLUG, "soon", "--reason", "x"), "'soon' is not a time."),
        (("extend", "ada", SLUG, "--take-back", "--reason", "x"), "grader grades show"),
        (("extend", "ada", SLUG, "--reason", "x"), "either a time or --take-back"),
    ],
)
def test_what_cannot_be_done_is_said(folder: Path, words: tuple[str, ...], words_said: str) -> None:
    assert words_said in refused(folder, "grades", *words)


def test_outside_of_a_course_one_is_asked_for(tmp_path: Path) -> None:
    assert "not part of a course" in refused(tmp_path, "grades", "list")


def test_the_environment_names_another_gradebook(folder: Path, tmp_path: Path) -> None:
    elsewhere = str(tmp_path / "elsewhere.sqlite")
    assert "There is no gradebook" in refused(folder, "grades", "list", GRADER_GRADEBOOK=elsewhere)
    assert 0 == call(folder, "course", "init", GRADER_GRADEBOOK=elsewhere).returncode
    done = call(folder, "grades", "list", GRADER_GRADEBOOK=elsewhere)
    assert "The roster is empty" in done.stdout


def test_a_batch_goes_into_the_gradebook_and_is_taken_from_it(tmp_path: Path) -> None:
    course = tmp_path / "course"
    course.mkdir()
    shutil.copytree(ROOT / "tests" / "courses" / "small" / "assignments", course / "assignments")
    (course / "roster.csv").write_text(ROSTER, encoding="utf-8")
    write(course / "class/ada/hw.ipynb", *RIGHT)
    batch = ("batch", "class", "--assignment", "small", "--output")
    done = call(course, *batch, "none", "--handed-in", "files")
    assert (2, "") == (done.returncode, done.stdout)
    assert "--handed-in" in done.stderr
    said(course, "course", "init")
    said(course, "roster", "import", "roster.csv")
    kept = "1 report is in the gradebook, too: grader grades list"
    assert kept == said(course, *batch, "reports").splitlines()[-1]
    assert 10 == found(course, "grades", "explain", "ada", "small")["points"]
    output = said(course, *batch, "other", "--course", str(course))
    assert "1 graded, 1 of them before" in output
    assert f"{kept} --course {course}" == output.splitlines()[-1]
    for folder in ("reports", "other"):
        assert (course / folder / "ada" / "hw.json").exists()
    _regrade_after_a_changed_rubric(course)


def test_the_folder_of_one_who_was_collected_is_graded_as_with_all(tmp_path: Path) -> None:
    """Its report lay beside those of the class, where `hw` had points as a student of its own.

    A manifest within that folder is the student's own, and says of nobody else.
    """
    course = tmp_path / "course"
    shutil.copytree(ROOT / "tests" / "courses" / "small" / "assignments", course / "assignments")
    (course / "roster.csv").write_text(ROSTER, encoding="utf-8")
    write(course / "from/ada/hw.ipynb", *RIGHT)
    said(course, "course", "init")
    said(course, "roster", "import", "roster.csv")
    said(course, "collect", "from", "--output", "class")
    said(course, "collect", "from", "--output", "class/submissions/leilei")
    batch = ("batch", "--assignment", "small", "--output", "reports")
    said(course, *batch, "class/submissions/ada")
    assert (course / "reports/ada/hw.json").exists()
    told = said(course, *batch, "class/submissions/leilei")
    assert "Not in the gradebook: submissions/ada/hw." in told


def test_times_of_unpacked_files_are_no_times_of_submissions(tmp_path: Path) -> None:
    """`grader collect` writes every file anew: all of a class were late by the same time."""
    course = tmp_path / "course"
    shutil.copytree(ROOT / "tests" / "courses" / "small" / "assignments", course / "assignments")
    write(course / "from/ada/hw.ipynb", *RIGHT)
    said(course, "course", "init")
    said(course, "collect", "from", "--output", "class")
    batch = ("batch", "--assignment", "small", "--output", "reports", "--handed-in", "files")
    told = refused(course, *batch, "class/submissions")
    assert "ada/hw" in told
    assert "the time at which `grader collect` wrote it" in told
    assert not (course / "reports").exists()
    told = refused(course, *batch[:-1], "clas/collected.json", "class/submissions")
    assert "There is no file clas/collected.json." in told
    told = refused(course, *batch[:-1], "x" * 300 + "/collected.json", "class/submissions")
    assert "File name too long" in told


def _regrade_after_a_changed_rubric(course: Path) -> None:
    """Other points are counted anew; all that is run again has to be confirmed."""
    rubric = course / "assignments" / "small" / "assignment.toml"
    text = rubric.read_text().replace("points = 10", "points = 13")
    rubric.write_text(text.replace("points = 6", "points = 9"))
    planned = found(course, "regrade", "--changed", "--dry-run")
    assert (0, 1, False) == (planned["run"], planned["rescored"], planned["done"])
    (moved,) = found(course, "regrade", "small", "--changed")["moved"]
    assert ("ada", 10, 13) == (moved["student"], moved["before"], moved["after"])
    assert "recomputed; model 10 of 10 is now 13 of 13" == moved["why"]
    assert "--yes" in call(course, "regrade", "small").stderr
    rubric.write_text(rubric.read_text().replace("cell_seconds = 20", "cell_seconds = 21"))
    again = call(course, "regrade", "--changed")
    assert 0 == again.returncode, again.stderr
    assert "1 of 1: run 1 file, about" in again.stderr
    assert "0 grades changed." in again.stdout
    gradings = found(course, "grades", "show", "ada")["assignments"]["small"]["attempts"][0]
    assert [10, 13, 13] == [each["score"] for each in gradings["gradings"]]


def test_a_grade_by_an_earlier_rubric_is_listed_with_its_own_points(tmp_path: Path) -> None:
    """It stood below "of 14", and looked as if it was out of 14 points."""
    small = Class(tmp_path)
    enrol(small.book, "ada", "ben")
    small.grade_all({"ada": 1.0, "ben": 0.5})
    assert "earlier" not in said(tmp_path, "grades", "list")
    small.weigh(10)
    for told in (said(tmp_path, "grades", "list"), said(tmp_path, "grades", "list", "small")):
        assert ["ada", "Ada", "10", "of", "10"] in [line.split() for line in told.splitlines()]
        assert "small: graded out of other points than the 14 in assignment.toml (2)." in told
    told = said(tmp_path, "grades", "stats")
    assert "Recompute the points: grader regrade --changed small" in told
    said(tmp_path, "regrade", "--changed", "small")
    assert "other points" not in said(tmp_path, "grades", "list")
    small.book.close()


def test_an_adjustment_is_shown_without_idle_digits(folder: Path) -> None:
    add = ("grades", "adjust", "ada", SLUG, "--part", "schedule", "--points", "+1.50")
    number = found(folder, *add, "--reason", "a hint")["adjustment"]
    assert "schedule +1.5, by" in said(folder, "grades", "show", "ada")
    said(folder, *add[:4], "--take-back", str(number), "--reason", "no")
