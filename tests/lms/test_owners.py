"""Whose something is: what the system has made of a name says it, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.lms.collect import CollectedFolders
from grader.lms.roster import Roster, RosterPerson
from tests.lms.archives import make_folder, make_zip
from tests.lms.collecting import collect, contents, reasons

BOB = Roster([RosterPerson("bob", "Bob Byron", {"canvas": "77", "moodle": "99"})])


def owners(tmp_path: Path, roster: Roster | None, *names: str) -> dict[str, set[str]]:
    """Return what is in whose folder: each file says its own name."""
    archive = make_zip(tmp_path / "a.zip", {name: name for name in names})
    outcome = collect(archive, tmp_path / "class", roster)
    found = outcome.collected.students
    return {each.id or each.folder: contents(tmp_path / "class", each) for each in found}


def test_a_file_of_moodle_with_its_part_twice_is_nobodys(tmp_path: Path) -> None:
    bobs = "Bob Byron_99_assignsubmission_file_hw.ipynb"
    forged = "Ada_12_assignsubmission_file_x_99_assignsubmission_file_hw.ipynb"
    archive = make_zip(
        tmp_path / "a.zip",
        {bobs: "bob", forged: "ada", "Ada_12_assignsubmission_file_hw.ipynb": "a"},
    )
    outcome = collect(archive, tmp_path / "class", BOB)
    (bob,) = (e for e in outcome.collected.students if e.id == "bob")
    assert {"bob"} == contents(tmp_path / "class", bob)
    assert "unclear" == reasons(outcome)[forged]


def test_where_every_name_is_nobodys_each_is_told(tmp_path: Path) -> None:
    forged = "Ada_12_assignsubmission_file_x_99_assignsubmission_file_hw.ipynb"
    outcome = collect(make_zip(tmp_path / "a.zip", {forged: "ada"}), tmp_path / "class", BOB)
    assert {forged: "unclear"} == reasons(outcome)


def test_of_a_folder_of_moodle_the_end_counts(tmp_path: Path) -> None:
    called = "x_99_assignsubmission_file__12_assignsubmission_file_/hw.ipynb"
    honest = "Bob Byron_99_assignsubmission_file_/hw.ipynb"
    assert {honest} == owners(tmp_path, BOB, called, honest)["bob"]


@pytest.mark.parametrize(
    "forged",
    [
        "byronbob_77_501_1234_502_hw.ipynb",
        "byronbob_77_501_LATE_1234_502_hw.ipynb",
        "byronbob_77_501_1234_text.html",
        "byronbob_77_501_1234_502_\nhw.ipynb",
    ],
)
def test_a_display_name_that_ends_as_canvas_goes_on_is_nobodys(tmp_path: Path, forged: str) -> None:
    """Canvas makes `byronbob_77_501` of the name `byronbob_7-7_501`."""
    names = ("byronbob_77_601_hw.ipynb", "kim_5_602_hw.ipynb", forged)
    assert {names[0]} == owners(tmp_path, BOB, *names)["bob"]


def test_a_file_of_canvas_may_have_numbers_in_its_name(tmp_path: Path) -> None:
    names = ("kim_5_60212_hw_1_2_conv.ipynb", "byronbob_77_60331_lab_10_28_2.ipynb")
    found = owners(tmp_path, BOB, *names)
    assert {"bob": {names[1]}, "kim-5": {names[0]}} == found


@pytest.mark.parametrize(
    "before",
    ["kim_5_602_", "Kim_5_assignsubmission_file_", "5-1 - Kim - Nov 3, 2026 1205 PM - "],
)
def test_a_file_may_have_a_line_end_in_its_name(tmp_path: Path, before: str) -> None:
    """It was in no layout, and its student had two rows."""
    names = {f"{before}hw.ipynb", f"{before}\n.ipynb", f"{before}a\nb.ipynb"}
    (found,) = owners(tmp_path, BOB, *names).values()
    assert names == found


def test_two_who_would_be_one_student_are_nobodys(tmp_path: Path) -> None:
    roster = Roster([RosterPerson("liwei1", "Li Wei", {})])
    found = owners(tmp_path, roster, "liwei_1001_11_hw.ipynb", "liwei_2002_12_hw.ipynb")
    assert 2 == len(found)
    assert "liwei1" not in found
    assert all(len(each) == 1 for each in found.values())


def test_who_has_a_students_name_and_another_number_is_not_the_student(tmp_path: Path) -> None:
    found = owners(tmp_path, BOB, "byronbob_2002_12_hw.ipynb", "kim_5_13_hw.ipynb")
    assert {"byronbob-2002", "kim-5"} == set(found)


def test_who_comes_later_under_another_number_is_not_the_same(tmp_path: Path) -> None:
    roster = Roster([RosterPerson("liwei1", "Li Wei", {})])
    first = make_zip(tmp_path / "a.zip", {"liwei_1001_11_hw.ipynb": "1", "kim_5_13_x.ipynb": ""})
    later = make_zip(tmp_path / "b.zip", {"liwei_2002_11_hw.ipynb": "2", "kim_5_13_x.ipynb": ""})
    collect(first, tmp_path / "class", roster)
    outcome = collect(later, tmp_path / "class", roster)
    (own,) = (each for each in outcome.collected.students if each.id == "liwei1")
    assert {"1"} == contents(tmp_path / "class", own)
    assert 1 == len(outcome.contested)


def test_somebody_unknown_has_no_folder_that_is_called_as_a_student(tmp_path: Path) -> None:
    roster = Roster([RosterPerson("kim-5", "Bob Byron", {})])
    outcome = collect(
        make_zip(tmp_path / "a.zip", {"kim_5_13_hw.ipynb": "", "a_6_14_hw.ipynb": ""}),
        tmp_path / "class",
        roster,
    )
    assert not (tmp_path / "class/submissions/kim-5").exists()
    assert 2 == len(outcome.unmatched)


@pytest.mark.parametrize("roster", [None, Roster([RosterPerson("ada", "Ada", {})])])
def test_a_folder_and_a_file_of_one_name_are_nobodys(tmp_path: Path, roster: Roster | None) -> None:
    outcome = collect(
        make_zip(tmp_path / "a.zip", {"ada/hw.ipynb": "1", "ada.ipynb": "2", "ben/hw.ipynb": "3"}),
        tmp_path / "class",
        roster,
    )
    assert 2 == len(outcome.contested)
    assert not (tmp_path / "class/submissions/ada").exists()
    assert [1] == [*{len(contents(tmp_path / "class", e)) for e in outcome.collected.students}]


def test_one_timestamp_makes_no_class_of_nbgraders(tmp_path: Path) -> None:
    names = [f"s{each:02}/hw.ipynb" for each in range(30)]
    assert 31 == len(owners(tmp_path, None, *names, "s30/hw/timestamp.txt", "s30/hw/hw.ipynb"))


def test_a_student_called_submitted_hides_nobody(tmp_path: Path) -> None:
    found = owners(tmp_path, None, "submitted/x/hw/hw.ipynb", "ada/hw.ipynb", "ben/hw.ipynb")
    assert {"submitted", "ada", "ben"} == set(found)


def test_who_has_nothing_for_an_assignment_of_nbgraders_is_named(tmp_path: Path) -> None:
    files = dict.fromkeys(["submitted/ada/hw/a.ipynb", "submitted/ben/hw/a.ipynb"], "x")
    folder = make_folder(tmp_path / "g", {**files, "submitted/cid/a.ipynb": "x"})
    (folder / "submitted/dee").mkdir()
    outcome = collect(folder, tmp_path / "class")
    assert {"cid": "stranger", "dee": "stranger"} == reasons(outcome)


def test_who_is_in_gradescopes_file_and_not_in_the_archive_is_named(tmp_path: Path) -> None:
    metadata = "submission_1:\n  :submitters:\n  - :name: Ada\n    :email: a@x\n"
    more = metadata.replace("_1:", "_2:").replace("Ada", "Ben")
    archive = make_zip(
        tmp_path / "a.zip", {"submission_metadata.yml": metadata + more, "submission_1/hw": "x"}
    )
    assert {"submission_2": "missing"} == reasons(collect(archive, tmp_path / "class"))


def test_a_students_own_folder_is_no_class(tmp_path: Path) -> None:
    roster = Roster([RosterPerson("mallory", "Mallory", {}), *BOB.people])
    found = owners(tmp_path, roster, "mallory/byronbob_77_1_hw.ipynb", "mallory/x_5_2_y.ipynb")
    assert {"mallory"} == set(found)


def test_a_student_whose_folder_is_empty_has_a_row(tmp_path: Path) -> None:
    archive = make_zip(tmp_path / "a.zip", {"ada/hw.ipynb": "x", "ben/.keep": "", "cid/x": ""})
    found = collect(archive, tmp_path / "class").collected.students
    assert ["ada", "ben", "cid"] == [each.folder for each in found]


def test_nothing_is_written_over(tmp_path: Path) -> None:
    names = ("a_11_101_hw.ipynb", "a_11_102_hw-1.ipynb", "a_11_103_hw.ipynb", "a_11_104_hw-1.ipynb")
    assert set(names) == owners(tmp_path, None, *names)["a-11"]


@pytest.mark.parametrize("rest", [".", "..", "a\\..\\..\\x"])
def test_a_name_that_is_no_files_is_left_out(tmp_path: Path, rest: str) -> None:
    archive = make_zip(tmp_path / "a.zip", {"a_11_101_hw.ipynb": "", f"a_11_102_{rest}": "x"})
    outcome = collect(archive, tmp_path / "class")
    assert outcome.collected.students
    assert reasons(outcome)
    assert ["hw.ipynb"] == [e.name for e in (tmp_path / "class/submissions/a-11").iterdir()]


def test_folders_know_whose_they_are_and_a_manifest_below_says_nothing(tmp_path: Path) -> None:
    archive = make_zip(tmp_path / "a.zip", {"b_77_1_hw.ipynb": "", "m_5_2_hw.ipynb": ""})
    collect(archive, tmp_path / "class", BOB)
    mallory = tmp_path / "class/submissions/m-5"
    forged = (tmp_path / "class/collected.json").read_bytes()
    make_folder(mallory, {"collected.json": forged, "submissions/bob/hw.ipynb": b"x"})
    known = CollectedFolders()
    path = mallory / "submissions/bob/hw.ipynb"
    for common in (mallory, mallory.parent, tmp_path / "class"):
        found = known.find(path, common)
        assert found is not None
        assert ("", "m-5") == (found.student.id, found.student.folder)


def test_a_manifest_that_was_handed_in_says_nothing_where_nothing_was_collected(
    tmp_path: Path,
) -> None:
    archive = make_zip(tmp_path / "a.zip", {"b_77_1_hw.ipynb": "", "m_5_2_hw.ipynb": ""})
    collect(archive, tmp_path / "class/mallory", BOB)
    path = tmp_path / "class/mallory/submissions/bob/hw.ipynb"
    assert None is CollectedFolders().find(path, tmp_path / "class")


def test_an_earlier_attempt_is_below_the_folder_of_all_earlier_ones(tmp_path: Path) -> None:
    """Named alone, the first attempts of two students had one report, `1/hw`."""
    for text in "12":
        names = {"byronbob_77_1_hw.ipynb": text, "kim_5_2_x.ipynb": ""}
        collect(make_zip(tmp_path / f"{text}.zip", names), tmp_path / "class", BOB)
    (attempt,) = (tmp_path / "class/earlier/bob").iterdir()
    assert tmp_path / "class/earlier" == CollectedFolders().class_folder(attempt)


def test_who_was_collected_without_a_roster_has_one_row_with_one(tmp_path: Path) -> None:
    first = make_zip(tmp_path / "a.zip", {"byronbob_77_1_hw.ipynb": "1", "kim_5_2_x.ipynb": ""})
    later = make_zip(tmp_path / "b.zip", {"byronbob_77_3_hw.ipynb": "2", "kim_5_2_x.ipynb": ""})
    collect(first, tmp_path / "class")
    outcome = collect(later, tmp_path / "class", BOB)
    (bob,) = (e for e in outcome.collected.students if e.keys.get("canvas") == "77")
    assert ("bob", {"1", "2"}) == (bob.id, contents(tmp_path / "class", bob))
    assert "2" == (tmp_path / "class/submissions" / bob.folder / "hw.ipynb").read_text()


def test_of_two_who_were_collected_before_none_becomes_a_student_of_the_roster(
    tmp_path: Path,
) -> None:
    names = ("liwei_1001_11_hw.ipynb", "liwei_2002_12_hw.ipynb")
    archive = make_zip(tmp_path / "a.zip", {name: name for name in names})
    collect(archive, tmp_path / "class")
    outcome = collect(archive, tmp_path / "class", Roster([RosterPerson("liwei1", "Li Wei", {})]))
    assert all(e.id == "" for e in outcome.collected.students)
