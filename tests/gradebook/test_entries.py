"""Rosters as systems write them, and whom a word means."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from grader.errors import UsageError
from grader.gradebook.entries import (
    RosterFile,
    Student,
    find_student,
    plan,
    read_roster,
    read_roster_file,
    signed,
)


def student(id: int, login: str, name: str = "", **fields: str) -> Student:
    known = {"email": "", "section": "", "github": "", **fields}
    return Student(id=id, login=login, name=name, lms={}, **known)


def read(folder: Path, content: str | bytes) -> dict[str, dict[str, str]]:
    path = folder / "roster.csv"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return {each.login: each.fields for each in read_roster(path)}


def refusal(folder: Path, content: str | bytes) -> str:
    with pytest.raises(UsageError) as caught:
        read(folder, content)
    return str(caught.value)


@pytest.mark.parametrize(
    ("content", "login", "name"),
    [
        ("id,name,email\nada,Ada Lovelace,a@x.org\n", "ada", "Ada Lovelace"),
        (
            "Student,ID,SIS User ID,SIS Login ID,Section,hw (7)\n"
            '    Points Possible,,,,,100\n"Lovelace, Ada",17,S1,ada,A,99\n"Student, Test",9,,,A,\n',
            "ada",
            "Lovelace, Ada",
        ),
        (
            "First name,Surname,ID number,Email address,Groups\nAda,Lovelace,1815,a@x.org,A\n",
            "1815",
            "Ada Lovelace",
        ),
        ("identifier,github_username,github_id,name\nada,adal,7,Ada L\n", "ada", "Ada L"),
        (
            "OrgDefinedId,Username,Last Name,First Name,Email\n#1,ada,L,Ada,a@x.org\n",
            "ada",
            "Ada L",
        ),
        ("First Name;Last Name;SID;Email\nAda;L;1;a@x.org\n", "a@x.org", "Ada L"),
        (
            "Identifier,Full name,Email address,Grade\nParticipant 12,Ada L,a@x.org,\n",
            "a@x.org",
            "Ada L",
        ),
    ],
    ids=["own", "canvas", "moodle", "classroom", "brightspace", "gradescope", "worksheet"],
)
def test_headers_are_recognised(tmp_path: Path, content: str, login: str, name: str) -> None:
    (found,) = read(tmp_path, content).items()
    assert (login, name) == (found[0], found[1]["name"])


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_names_are_in_any_script(tmp_path: Path, encoding: str) -> None:
    names = ["李雷", "Zoë Ångström", "محمد علي", "김철수", "Nguyễn Thị", "𠮷野家", "O'Brien, Jr."]
    lines = [f'{at},"{name}"' for at, name in enumerate(names)]
    found = read(tmp_path, ("\r\n".join(["id,name", *lines])).encode(encoding))
    assert names == [fields["name"] for fields in found.values()]


def test_what_keeps_a_cell_from_being_a_formula_is_no_part_of_it(tmp_path: Path) -> None:
    """`grader sync fetch` writes rosters so; a name may begin with an apostrophe of its own."""
    found = read(tmp_path, "login,name,email\nx,'=cmd(),'+x@e.org\ny,'t Hooft,y@e.org\n")
    assert ("=cmd()", "+x@e.org") == (found["x"]["name"], found["x"]["email"])
    assert "'t Hooft" == found["y"]["name"]


def test_letters_are_composed_and_what_steers_a_terminal_is_gone(tmp_path: Path) -> None:
    found = read(tmp_path, "id,name\nzoe\u0308,Zoe\u0308 \x1b[2J\x00B\n")
    assert {"zo\u00eb": {"name": "Zo\u00eb B"}} == found


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "empty"),
        ("colour,taste\nred,sweet\n", "its columns are colour, taste"),
        ("id,name\nada,A\n,B\n", "Line 3 of roster.csv does not identify a student."),
        ("id,name\nada,A\nben,B\nADA,C\n", "Lines 2 and 4"),
        ('id,name\nada,"A\n', "is not CSV"),
        (b"id,name\nada,\xff\xff\n", "not text in UTF-8"),
        (b"x" * (16 * 2**20 + 1), "larger than 16 MB"),
    ],
)
def test_what_is_no_roster_is_refused_with_its_line(
    tmp_path: Path, content: str | bytes, said: str
) -> None:
    assert said in refusal(tmp_path, content)


class TestRoles:
    """Rosters list who teaches, observes and tests, too."""

    def roles(self, folder: Path, *roles: str) -> RosterFile:
        path = folder / "roster.csv"
        rows = (f's{n},S{n},"{role}"' for n, role in enumerate(roles))
        path.write_text("\n".join(["id,name,role", *rows]))
        return read_roster_file(path)

    @pytest.mark.parametrize(
        "role",
        [
            *("Teacher", "TA", "TaEnrollment", "ObserverEnrollment", "observer", "Test Student"),
            *("StudentViewEnrollment", "Non-editing teacher", "Instructor, TA", "DESIGNER"),
        ],
    )
    def test_who_is_no_student_is_left_out_and_named(self, tmp_path: Path, role: str) -> None:
        found = self.roles(tmp_path, "Student", role)
        assert ["s0"] == [each.login for each in found.entries]
        assert (("s1", role),) == found.left_out
        assert () == found.unknown

    @pytest.mark.parametrize(
        "role", ["", "Student", "StudentEnrollment", "learner", "Student, Teaching Assistant"]
    )
    def test_students_are_students(self, tmp_path: Path, role: str) -> None:
        found = self.roles(tmp_path, role)
        assert (1, (), ()) == (len(found.entries), found.left_out, found.unknown)

    def test_an_unknown_role_is_a_students_and_told(self, tmp_path: Path) -> None:
        found = self.roles(tmp_path, "Leader", "\u5b66\u751f")
        assert 2 == len(found.entries)
        assert (("s0", "Leader"), ("s1", "\u5b66\u751f")) == found.unknown

    def test_a_teacher_need_not_have_an_id(self, tmp_path: Path) -> None:
        path = tmp_path / "roster.csv"
        path.write_text("id,name,role\nada,Ada,Student\n,Olga,Teacher\n")
        assert (("Olga", "Teacher"),) == read_roster_file(path).left_out

    def test_the_role_is_no_field_of_a_student(self, tmp_path: Path) -> None:
        (entry,) = self.roles(tmp_path, "Student").entries
        assert {"name": "S0"} == entry.fields


class TestPlan:
    """What a second roster changes."""

    KNOWN = (student(1, "ada", "Ada", email="a@x.org"), student(2, "ben", "Ben"))

    def entries(self, folder: Path, content: str) -> object:
        return plan(self.KNOWN, read_roster(self.write(folder, content)))

    def write(self, folder: Path, content: str) -> Path:
        path = folder / "roster.csv"
        path.write_text(content)
        return path

    def test_an_e_mail_that_changes_is_the_same_student(self, tmp_path: Path) -> None:
        path = self.write(tmp_path, "id,name,email\nada,Ada,new@x.org\nben,Ben,\n")
        found = plan(self.KNOWN, read_roster(path))
        assert {"ada": {"email": ("a@x.org", "new@x.org")}} == found.changed
        assert ((), (), 1) == (found.added, found.missing, found.unchanged)

    def test_nobody_is_matched_by_name(self, tmp_path: Path) -> None:
        path = self.write(tmp_path, "id,name\nada2,Ada\n")
        found = plan(self.KNOWN, read_roster(path))
        assert (("ada2",), ("ada", "ben")) == (found.added, found.missing)

    def test_what_a_roster_has_no_column_for_stays(self, tmp_path: Path) -> None:
        path = self.write(tmp_path, "id,section\nada,B\n")
        (row,) = plan(self.KNOWN, read_roster(path)).rows
        assert {"login", "section", "lms"} == {*row}


class TestFindStudent:
    """Whom a word means."""

    CLASS = (
        student(1, "ada", "Kim", email="Ada@x.org"),
        student(2, "b2", "Kim", github="kimchi"),
        student(3, "李雷", "Zoë"),
        student(4, "kim2", "Ada Two"),
    )

    @pytest.mark.parametrize(
        ("word", "login"),
        [
            ("ada", "ada"),
            ("ADA", "ada"),
            ("ada@X.org", "ada"),
            ("kimchi", "b2"),
            ("zoe\u0308", "李雷"),
            ("李雷", "李雷"),
            ("ada  two", "kim2"),
        ],
    )
    def test_by_id_e_mail_github_or_name(self, word: str, login: str) -> None:
        assert login == find_student(self.CLASS, word).login

    def test_two_of_one_name_are_told_apart_and_not_guessed(self) -> None:
        with pytest.raises(UsageError, match="2 students match 'kim': ada, b2"):
            find_student(self.CLASS, "kim")

    @pytest.mark.parametrize("word", ["eve", "", " "])
    def test_nobody_is_said(self, word: str) -> None:
        with pytest.raises(UsageError, match="No student in the roster"):
            find_student(self.CLASS, word)

    def test_a_name_that_does_not_count_is_not_said_to_be_nobodys(self) -> None:
        """ "No student has the name 'zoë'" was said of an import that asks for no names."""
        with pytest.raises(UsageError, match="has the id or e-mail 'zo"):
            find_student(self.CLASS, "zoe\u0308", by=("login", "email"))


@pytest.mark.parametrize(
    ("points", "said"),
    [
        ("3", "+3"),
        ("-0.5", "-0.5"),
        ("-0.005", "-0.005"),
        ("0", "+0"),
        ("-0", "+0"),
        ("100", "+100"),
    ],
)
def test_an_adjustment_is_shown_with_all_of_its_digits(points: str, said: str) -> None:
    assert said == signed(Decimal(points))
