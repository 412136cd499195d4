"""`grader objections`, typed as docs/gradebook.md has it, to the page that a student reads."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from grader.gradebook.book import Gradebook, HandedIn, Recording
from grader.gradebook.database import open_database
from grader.gradebook.entries import find_student
from tests.endtoend.warm import run_warm
from tests.gradebook.factory import CONTENT, SLUG, hand_in, report_of

ROOT = Path(__file__).parents[2]
HOSTILE = "<script>alert(1)</script>\n\x1b[31m[red]=cmd()\u202e"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A course with two students, of whom one is graded, and an address to ask at."""
    (tmp_path / "assignments").mkdir()
    (tmp_path / "assignments" / SLUG).symlink_to(ROOT / "assignments" / SLUG)
    (tmp_path / "course.toml").write_text('[objections]\naddress = "mailto:ta@example.org"\n')
    (tmp_path / "roster.csv").write_text("id,name\nada,Ada Lovelace\nben,Ben\n")
    said(tmp_path, "course", "init")
    said(tmp_path, "roster", "import", "roster.csv")
    book = Gradebook(open_database(f"sqlite:///{tmp_path / 'gradebook.sqlite'}"))
    hand_in(book, find_student(book.students(), "ada"))
    book.close()
    return tmp_path


def call(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return run_warm(words, folder, {"COLUMNS": "140"})


def said(folder: Path, *words: str) -> str:
    done = call(folder, *words)
    assert 0 == done.returncode, done.stderr
    return done.stdout


def found(folder: Path, *words: str) -> Any:
    return json.loads(said(folder, *words, "--json", "-"))


def refused(folder: Path, *words: str) -> str:
    done = call(folder, *words)
    assert (2, "") == (done.returncode, done.stdout)
    return done.stderr


def states(folder: Path, *words: str) -> list[tuple[int, str, str, str]]:
    rows = found(folder, "objections", "list", *words)["objections"]
    return [(each["number"], each["student"], each["part"], each["state"]) for each in rows]


def page_of(folder: Path, login: str) -> str:
    call(folder, "feedback", "--assignment", SLUG, "--output", "pages")
    return (folder / "pages" / f"{login}.html").read_text("utf-8")


def test_an_objection_goes_from_the_page_to_the_page(folder: Path) -> None:
    link = f"mailto:ta@example.org?subject={SLUG}%2C%20schedule%2C%20ada"
    assert f'<a href="{link}">Ask about this part</a>' in page_of(folder, "ada")

    add = ("objections", "add", "ada", SLUG, "--part", "schedule", "--by", "eve")
    assert "Objection 1 of ada is entered." in said(folder, *add, "It is as fast as yours.")
    assert "Objection 1 of ada says the same." in said(folder, *add, "It is as fast as yours.")
    said(folder, "objections", "add", "ben", SLUG, "I handed in on time.")
    assert [(1, "ada", "schedule", "open"), (2, "ben", "", "open")] == states(folder)

    moved = ("objections", "answer", "1", "It is.", "--points", "+2.5", "--by", "eve")
    assert f"Objection 1 is answered.\nada, {SLUG}: 77.5 before, 80 now." in said(folder, *moved)
    said(folder, "objections", "answer", "2", "Nothing arrived.")
    assert ["moved", "answered"] == [each[3] for each in states(folder)]
    assert [(1, "ada", "schedule", "moved")] == states(folder, SLUG, "--state", "moved")
    output = said(folder, "objections", "list")
    assert "moved +2.5" in output and "It is as fast as yours." in output
    assert output.endswith("Objections: 0 open, 1 answered, 1 with changed points.\n")

    lines = said(folder, "grades", "explain", "ada", SLUG)
    assert "Part schedule: +2.5 gives 25; adjustment 1 by eve" in lines
    assert "Objection 1, part schedule, " in lines and ", +2.5 points: It is." in lines
    (row,) = found(folder, "grades", "explain", "ada", SLUG)["objections"]
    assert ("moved", 2.5, ["It is."]) == (
        row["state"],
        row["points"],
        [each["text"] for each in row["answers"]],
    )
    assert "Nothing arrived." in said(folder, "grades", "show", "ben")
    counts = {"open": 0, "answered": 1, "moved": 1}
    assert counts == found(folder, "grades", "stats", SLUG)[SLUG]["objections"]
    assert "1 with changed points." in said(folder, "grades", "stats")

    page = page_of(folder, "ada")
    asked, replied = page.index("It is as fast as yours."), page.index("It is.</p>")
    article = page.index('aria-labelledby="part-3-title"')
    assert article < asked < replied
    assert "80 / 100" in page.replace('<span class="maximum">', "").replace("</span>", "")
    assert ", +2.5 points" in page
    assert "Nothing arrived." not in page


def test_points_move_back_and_a_second_answer_is_asked_for(folder: Path) -> None:
    said(folder, "objections", "add", "ada", SLUG, "Why?", "--part", "schedule")
    said(folder, "objections", "answer", "1", "So.", "--points", "+1")
    once_more = ("objections", "answer", "1", "No.")
    assert "has been answered by" in refused(folder, *once_more)
    back = ("--take-back", "1", "--reason", "a mistake")
    said(folder, "grades", "adjust", "ada", SLUG, *back)
    assert "answered" == states(folder)[0][3]
    said(folder, *once_more, "--again")
    (row,) = found(folder, "objections", "list")["objections"]
    assert ["So.", "No."] == [each["text"] for each in row["answers"]]


def test_points_of_a_part_that_was_renamed_are_refused(folder: Path) -> None:
    """They were recorded, told to the student, and did not count."""
    said(folder, "objections", "add", "ada", SLUG, "Why?", "--part", "schedule")
    said(
        folder,
        "grades",
        "adjust",
        "ada",
        SLUG,
        "--part",
        "schedule",
        "--points",
        "+1",
        "--reason",
        "so",
    )
    book = Gradebook(open_database(f"sqlite:///{folder / 'gradebook.sqlite'}"))
    report = report_of(seed=2)
    parts = tuple(replace(e, id="tuning" if e.id == "schedule" else e.id) for e in report.parts)
    given = HandedIn(find_student(book.students(), "ada").id, SLUG, "hw.ipynb", CONTENT)
    book.record_all([Recording(given, replace(report, parts=parts))])
    book.close()
    answer = ("objections", "answer", "1", "So.", "--points", "+1")
    assert f"{SLUG} has no part 'schedule'. It has" in " ".join(refused(folder, *answer).split())
    assert "ada" in said(folder, "grades", "list").split("no such part (1): ")[1]


def test_what_a_student_wrote_steers_nothing(folder: Path) -> None:
    said(folder, "objections", "add", "ada", SLUG, HOSTILE, "--part", "schedule")
    said(folder, "objections", "add", "ada", SLUG, f"{HOSTILE} in all")
    for words in (("objections", "list"), ("grades", "explain", "ada", SLUG)):
        output = said(folder, *words)
        assert "\x1b" not in output and "\u202e" not in output and "[red]=cmd()" in output
    page = page_of(folder, "ada")
    assert "<script>" not in page and "\x1b" not in page and "\u202e" not in page
    assert 2 == page.count("&lt;script&gt;alert(1)&lt;/script&gt;")


def test_a_table_is_entered_whole_or_not_at_all(folder: Path) -> None:
    table = folder / "asked.csv"
    table.write_text("Student,Part,Text\nada,schedule,Why?\nben,,=cmd()\n")
    words = ("objections", "import", "asked.csv", "--assignment", SLUG)
    assert "Objections in asked.csv: 2, new: 2." in said(folder, *words)
    assert {"new": [], "known": 2} == found(folder, *words)
    table.write_text(f"student,assignment,text\nada,{SLUG},More?\nzoe,{SLUG},Who?\n")
    words = ("objections", "import", "asked.csv")
    assert "asked.csv, line 3: No student in the roster has" in refused(folder, *words)
    table.write_text("student,text\nada,More?\n")
    assert "asked.csv has no column assignment." in refused(folder, *words)
    table.write_text(f"student,assignment,part,text\nada,{SLUG},nothing,More?\n")
    assert f"line 2: {SLUG} has no part 'nothing'" in refused(folder, *words)
    table.write_text(f"student,assignment,text\nada,{SLUG}, \n")
    assert "line 2: The text is empty." in refused(folder, *words)
    assert 2 == len(states(folder))


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("add", "zoe", SLUG, "Why?"), "No student in the roster"),
        (("add", "ada", "nothing", "Why?"), "no assignment 'nothing'"),
        (("add", "ada", SLUG, "Why?", "--part", "x"), "has no part 'x'"),
        (("add", "ada", SLUG, ""), "The text is empty."),
        (("answer", "9", "So."), "There is no objection 9."),
    ],
)
def test_what_is_unknown_is_refused(folder: Path, words: tuple[str, ...], reason: str) -> None:
    assert reason in refused(folder, "objections", *words)


def test_points_need_a_graded_attempt(folder: Path) -> None:
    said(folder, "objections", "add", "ben", SLUG, "Why?")
    points = ("objections", "answer", "1", "So.", "--points", "1")
    assert "no graded attempt" in refused(folder, *points)
    assert "open" == states(folder)[0][3]


def test_an_address_that_is_none_is_refused_with_its_line(folder: Path) -> None:
    (folder / "course.toml").write_text('[objections]\naddress = "javascript:alert(1)"\n')
    told = refused(folder, "feedback", "--assignment", SLUG, "--output", "pages")
    assert "course.toml:2" in told and "mailto:NAME@HOST" in told
