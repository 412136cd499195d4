"""Rosters as systems export them, and whose something is by them."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.gradebook.entries import read_roster as read_entries
from grader.lms.choices import Key
from grader.lms.delivery import Delivery
from grader.lms.roster import Roster, read_roster, with_logins

CANVAS = """\
Student,ID,SIS User ID,SIS Login ID,Section,hw (12)
,,,,,Manual Posting
    Points Possible,,,,,100
"Lovelace, Ada",1234,s12,ada,Mon,
"Kim, Min",77,s13,min,Tue,
"Student, Test",9,,,Mon,
"""
MOODLE = """\
Identifier,"Full name","Email address",Grade
"Participant 12","Ada Lovelace",ada@example.org,
"Teilnehmer/in 13","김 민",min@example.org,
"""
GRADESCOPE = "First Name,Last Name,SID,Email,Section\nAda,Lovelace,0012,ada@example.org,A\n"
CLASSROOM = '"identifier","github_username","github_id","name"\n"ada","adal","1",""\n'
CLASSROOM50 = (
    "username,first_name,last_name,email,section,github_id,role\n"
    "Ada-Ob,Ada,O'Brien,ada@example.org,Mon,101,student\nmin-kim,Min,Kim,,,102,\n"
)
BRIGHTSPACE = "OrgDefinedId,Username,Last Name,First Name,Email\n#12,ada,Lovelace,Ada,a@e.org\n"
OWN = "id;name;email;github\nada;Ada Lovelace;ada@example.org;lovelace\nmin;김 민;;min-kim\n"


def roster_of(tmp_path: Path, text: str, encoding: str = "utf-8") -> Roster:
    path = tmp_path / "roster.csv"
    path.write_bytes(text.encode(encoding))
    return read_roster(path)


def whose(roster: Roster, name: str = "", **keys: str) -> str | None:
    typed: dict[Key, str] = {**keys}  # type: ignore[dict-item]
    found = roster.find(Delivery(name, typed, ()))
    return None if found is None else found.id


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        (CANVAS, ["ada", "min"]),
        (MOODLE, ["ada@example.org", "min@example.org"]),
        (GRADESCOPE, ["ada@example.org"]),
        (CLASSROOM, ["ada"]),
        (CLASSROOM50, ["Ada-Ob", "min-kim"]),
        (BRIGHTSPACE, ["ada"]),
        (OWN, ["ada", "min"]),
    ],
    ids=["canvas", "moodle", "gradescope", "classroom", "classroom50", "brightspace", "own"],
)
def test_every_systems_roster_is_read(tmp_path: Path, text: str, ids: list[str]) -> None:
    assert ids == [person.id for person in roster_of(tmp_path, text).people]


def test_a_user_of_classroom50_is_called_as_on_github(tmp_path: Path) -> None:
    roster = roster_of(tmp_path, CLASSROOM50)
    assert {"ada-ob", "min-kim"} == roster.known_by("login")
    assert "Ada-Ob" == whose(roster, login="ada-ob")
    assert ("Ada O'Brien", "Mon") == (roster.people[0].name, roster.people[0].section)


def test_a_user_name_beside_no_number_of_github_is_no_login_of_github(tmp_path: Path) -> None:
    assert frozenset() == roster_of(tmp_path, BRIGHTSPACE).known_by("login")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_it_may_be_written_as_spreadsheets_do(tmp_path: Path, encoding: str) -> None:
    assert "김 민" == roster_of(tmp_path, OWN, encoding).people[1].name


def test_a_user_of_canvas_is_known_by_the_number(tmp_path: Path) -> None:
    assert "ada" == whose(roster_of(tmp_path, CANVAS), "somebodyelse", canvas="1234")


SPLIT = """\
LastName,FirstName,ID,SIS User ID,Section,hw (12)
    Points Possible,,,,,100
Lovelace,Ada,1234,s12,Mon,
Student,Test,9,,Mon,
"""


def test_canvas_may_split_names_into_two_columns(tmp_path: Path) -> None:
    (ada,) = roster_of(tmp_path, SPLIT).people
    assert ("Ada Lovelace", "1234") == (ada.name, ada.keys["canvas"])


TWO_OF_A_NAME = "login,name,ID\nwei1,Wei Chen,2009\nwei2,Wei Chen,2010\nada,Ada Lovelace,7\n"


def test_a_column_id_of_ones_own_may_be_canvas_where_the_name_is_the_students(
    tmp_path: Path,
) -> None:
    """Else the university's number 7 would be whoever has number 7 in Canvas."""
    roster = roster_of(tmp_path, TWO_OF_A_NAME)
    assert ("wei1", "wei2") == (
        whose(roster, "weichen", canvas="2009"),
        whose(roster, "Chen, Wei", canvas="2010"),
    )
    assert (None, None) == (whose(roster, "grace", canvas="7"), whose(roster, canvas="7"))


def test_a_column_that_is_called_canvas_id_is_one(tmp_path: Path) -> None:
    roster = roster_of(tmp_path, "login,name,Canvas ID\nada,Ada,7\n")
    assert "ada" == whose(roster, "somebodyelse", canvas="7")


@pytest.mark.parametrize("folder", ["Ada Lovelace", "Lovelace, Ada", "ada lovelace"])
def test_a_folder_may_bear_a_students_full_name(tmp_path: Path, folder: str) -> None:
    assert "ada" == whose(roster_of(tmp_path, OWN), folder=folder)


def test_a_folder_with_the_name_of_two_is_nobodys(tmp_path: Path) -> None:
    assert whose(roster_of(tmp_path, TWO_OF_A_NAME), folder="Wei Chen") is None


WORKSHEET = """\
Bezeichner;Vollständiger Name;E-Mail-Adresse;Status;Bewertung;Höchste Bewertung;Bewertung änderbar
Teilnehmer/in 30;Ada Lovelace;ada@e.org;Zur Bewertung abgegeben;;100,00;Ja
Teilnehmer/in 31;Emmy Noether;emmy@e.org;Zur Bewertung abgegeben;5,00;100,00;Ja
"""


def test_a_worksheet_of_moodle_is_a_roster_in_any_language(tmp_path: Path) -> None:
    roster = roster_of(tmp_path, WORKSHEET)
    assert ["Ada Lovelace", "Emmy Noether"] == [each.name for each in roster.people]
    assert ("ada@e.org", "emmy@e.org") == (whose(roster, moodle="30"), whose(roster, moodle="31"))


GROUPS = """\
First name,Last name,ID number,Email address,Groups
Luc,Picard,7,l@e.org,"Team A, Bridge"
Conan,O'Brien,8,c@e.org,Team-B
"""


def test_moodle_may_put_a_group_before_the_name(tmp_path: Path) -> None:
    roster = roster_of(tmp_path, GROUPS)
    assert ("7", "7", "8") == (
        whose(roster, "Bridge-Luc Picard", moodle="30"),
        whose(roster, "Luc Picard", moodle="30"),
        whose(roster, "Team-B-Conan O'Brien", moodle="31"),
    )


def test_what_is_before_a_hyphen_has_to_be_the_students_group(tmp_path: Path) -> None:
    roster = roster_of(tmp_path, GROUPS)
    assert whose(roster, "Jean-Luc Picard", moodle="30") is None
    assert whose(roster, "Bridge-Luc Picard", brightspace="30") is None


def test_brightspace_puts_a_sign_before_numbers(tmp_path: Path) -> None:
    assert "ada" == whose(roster_of(tmp_path, BRIGHTSPACE), sid="12")


def test_a_participant_of_moodle_is_known_by_the_number(tmp_path: Path) -> None:
    assert "min@example.org" == whose(roster_of(tmp_path, MOODLE), moodle="13")


def owners_of_clones(roster: Roster, *names: str) -> list[str | None]:
    clones = [Delivery("", {"folder": name}, ()) for name in names]
    found = map(roster.find, with_logins(clones, "classroom", roster))
    return [None if each is None else each.id for each in found]


def test_a_clone_is_known_by_the_login_behind_what_most_begin_with(tmp_path: Path) -> None:
    roster = roster_of(tmp_path, OWN + "kim;Kim;;kim\n")
    clones = ("hw-1-min-kim", "hw-1-kim", "hw-1-tim", "notes-lovelace")
    assert ["min", "kim", None, None] == owners_of_clones(roster, *clones)


def test_a_clone_may_be_named_after_the_classroom_and_the_assignment(tmp_path: Path) -> None:
    clones = ("mlc-fall-hw-1-min-kim", "mlc-fall-hw-1-lovelace", "mlc-fall-hw-1-nobody")
    assert ["min", "ada", None] == owners_of_clones(roster_of(tmp_path, OWN), *clones)


def test_a_login_may_begin_as_all_others_do(tmp_path: Path) -> None:
    roster = roster_of(tmp_path, "id;github\na;cs1-ada\nb;cs1-ben\n")
    assert ["a", "b"] == owners_of_clones(roster, "hw-cs1-ada", "hw-cs1-ben")


def test_a_login_that_ends_as_anothers_is_another(tmp_path: Path) -> None:
    roster = roster_of(tmp_path, OWN)
    assert [None, "min"] == owners_of_clones(roster, "hw-x-lovelace", "hw-min-kim")


def test_blackboard_names_students_by_login(tmp_path: Path) -> None:
    """The roster may have it in a column of its own, or as the id; a name with an underscore."""
    for text in ("id;username\n1;ada\n2;min_kim\n", "id;name\nada;A\nmin_kim;M\n"):
        roster = roster_of(tmp_path, text)
        called = ("HW_1_ada", "HW_1_min_kim", "HW_1_eve")
        told = [Delivery("", {"folder": name}, ()) for name in called]
        found = [roster.find(each) for each in with_logins(told, "blackboard", roster)]
        assert [*roster.people, None] == found


def test_one_clone_alone_does_not_show_where_the_login_begins(tmp_path: Path) -> None:
    assert [None] == owners_of_clones(roster_of(tmp_path, OWN), "hw-x-lovelace")


def test_a_name_says_nothing_where_the_number_is_another(tmp_path: Path) -> None:
    roster = roster_of(tmp_path, CANVAS)
    assert (None, "ada") == (
        whose(roster, "lovelaceada", canvas="99"),
        whose(roster, "lovelaceada", brightspace="99"),
    )


@pytest.mark.parametrize("name", ["Ada Lovelace", "ada lovelace", "Lovelace, Ada", "lovelaceada"])
def test_a_name_that_nobody_else_has_is_enough(tmp_path: Path, name: str) -> None:
    assert "ada" == whose(roster_of(tmp_path, OWN), name)


def test_marks_make_another_name(tmp_path: Path) -> None:
    roster = roster_of(tmp_path, "login,name\nkiran,किरण\n")
    assert ("kiran", None) == (whose(roster, "किरण"), whose(roster, "करण"))


def test_a_name_that_two_have_says_nothing(tmp_path: Path) -> None:
    roster = roster_of(tmp_path, OWN + "ada2;Lovelace Ada;;\n")
    assert whose(roster, "Ada Lovelace") is None
    assert "ada" == whose(roster, "Ada Lovelace", email="ADA@example.org")


def test_two_who_share_an_address_are_not_known_by_it(tmp_path: Path) -> None:
    roster = roster_of(tmp_path, "id,email\nada,x@example.org\nmin,x@example.org\n")
    assert whose(roster, email="x@example.org") is None


def test_keys_that_lead_to_two_people_say_nothing(tmp_path: Path) -> None:
    roster = roster_of(tmp_path, "id,sid,email\nada,1,a@example.org\nmin,2,m@example.org\n")
    assert whose(roster, sid="1", email="m@example.org") is None


def test_a_number_of_gradescopes_is_a_key_and_the_address_is_the_word(tmp_path: Path) -> None:
    (person,) = roster_of(tmp_path, GRADESCOPE).people
    assert ("ada@example.org", "0012") == (person.id, person.keys["sid"])


def test_students_are_called_as_in_the_gradebook(tmp_path: Path) -> None:
    for text in (CANVAS, MOODLE, GRADESCOPE, CLASSROOM, BRIGHTSPACE, OWN):
        called = [person.id for person in roster_of(tmp_path, text).people]
        assert called == [entry.login for entry in read_entries(tmp_path / "roster.csv")]
