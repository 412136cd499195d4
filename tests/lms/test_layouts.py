"""What each learning management system writes into names, read back."""

from __future__ import annotations

import tracemalloc
from collections.abc import Mapping
from pathlib import Path

import pytest

from grader.errors import UsageError
from grader.lms import layouts
from grader.lms.choices import Layout
from grader.lms.delivery import Delivery
from grader.lms.layouts import read_layout
from tests.lms.archives import make_folder

METADATA = """\
---
submission_101:
  :submitters:
  - :name: Ada Lovelace
    :sid: '0012'
    :email: ada@example.org
  - :name: 金 民
    :sid: 13
    :email:
  :created_at: 2026-11-03 12:05:33.123456000 Z
  :score: 0.0
  :results: {}
submission_102:
  :submitters: []
  :created_at:
"""

LAID_OUT: dict[Layout, list[str]] = {
    "canvas": [
        "lovelaceada_1234_99_hw.ipynb",
        "lovelaceada_1234_100_data_1.csv",
        "김민_LATE_77_101_hw-1.ipynb",
        "oneil_78_text.html",
    ],
    "moodle": [
        "Ada Lovelace_12_assignsubmission_file_/hw.ipynb",
        "Ada Lovelace_12_assignsubmission_file_/data/x.csv",
        "Ada Lovelace_12_assignsubmission_onlinetext_/onlinetext.html",
        "김 민_13_assignsubmission_file_/hw.ipynb",
    ],
    "brightspace": [
        "12-34 - Ada Lovelace - Mar 29, 2026 1205 PM/hw.ipynb",
        "12-34 - Ada Lovelace - Mar 30, 2026 905 AM/hw.ipynb",
        "13-34 - Min - Kim - Mar 29, 2026 1205 PM - hw - final.ipynb",
        "index.html",
    ],
    "blackboard": [
        "Lab 1_ada_attempt_2026-03-29-12-05-00_hw.ipynb",
        "Lab 1_ada_attempt_2026-03-29-12-05-00.txt",
        "Lab 1_min_kim_attempt_2026-03-29-12-05-01_hw_2.ipynb",
    ],
    "classroom": ["hw-ada/.git/config", "hw-ada/hw.ipynb", "hw-min-kim/.git/config"],
    "nbgrader": ["submitted/ada/hw/hw.ipynb", "submitted/ada/hw/timestamp.txt"],
    "folders": ["ada/hw.ipynb", "min/week 1/hw.ipynb", "grace.ipynb", "linus.zip"],
}


def laid_out(tmp_path: Path, layout: Layout, **more: str) -> Path:
    files = dict.fromkeys(LAID_OUT[layout], "x")
    return make_folder(tmp_path / "class", {**files, **more})


def by_student(handed_in: tuple[Delivery, ...]) -> Mapping[str, Delivery]:
    return {each.name or next(iter(each.keys.values())): each for each in handed_in}


def names(handed_in: Delivery) -> list[str]:
    return [name for _, name in handed_in.files]


@pytest.mark.parametrize("layout", LAID_OUT)
def test_a_layout_is_recognised(tmp_path: Path, layout: Layout) -> None:
    found = read_layout(laid_out(tmp_path, layout))
    assert (layout, ()) == (found.layout, found.strangers)


@pytest.mark.parametrize("layout", [each for each in LAID_OUT if each != "folders"])
def test_so_it_is_within_another_folder(tmp_path: Path, layout: Layout) -> None:
    laid_out(tmp_path, layout)
    assert layout == read_layout(tmp_path).layout


def test_what_somebody_has_put_beside_it_is_a_stranger(tmp_path: Path) -> None:
    folder = laid_out(tmp_path, "canvas", **{"notes.txt": "x", ".DS_Store": "x"})
    assert ("canvas", ("notes.txt",)) == (read_layout(folder).layout, read_layout(folder).strangers)


def test_one_name_among_others_makes_no_layout(tmp_path: Path) -> None:
    files = {"kim_1_2_hw.ipynb": "x", "ada/hw.ipynb": "x", "min/hw.ipynb": "x"}
    assert "folders" == read_layout(make_folder(tmp_path, files)).layout


def test_canvas_tells_whose_and_how_late(tmp_path: Path) -> None:
    found = by_student(read_layout(laid_out(tmp_path, "canvas")).handed_in)
    assert {"canvas": "1234"} == found["lovelaceada"].keys
    assert ["data_1.csv", "hw.ipynb"] == sorted(names(found["lovelaceada"]))
    assert [False, True] == [found["lovelaceada"].late, found["김민"].late]
    assert ["text.html"] == names(found["oneil"])


@pytest.mark.parametrize(
    "name", ["प्रियाशर्मा", "สมชายใจดี", "தமிழ்", "zoe\u0308", "van_der_berg", "o1"]
)
def test_canvas_has_names_in_any_script(tmp_path: Path, name: str) -> None:
    folder = make_folder(
        tmp_path, {f"{name}_LATE_12_5_hw.ipynb": "", f"{name}_LATE_12_text.html": ""}
    )
    (found,) = read_layout(folder).handed_in
    assert (name, {"canvas": "12"}, True) == (found.name, found.keys, found.late)


def test_canvas_can_hide_names(tmp_path: Path) -> None:
    folder = make_folder(tmp_path, {"anon_aB3x9_5_hw.ipynb": "", "LATE_anon_Qq2_6_hw.ipynb": ""})
    found = {each.keys["canvas"]: each for each in read_layout(folder).handed_in}
    assert {"aB3x9": False, "Qq2": True} == {key: each.late for key, each in found.items()}
    assert ["", ""] == [each.name for each in found.values()]


def test_moodle_puts_files_and_text_together(tmp_path: Path) -> None:
    found = by_student(read_layout(laid_out(tmp_path, "moodle")).handed_in)
    assert {"Ada Lovelace", "김 민"} == set(found)
    assert ["data/x.csv", "hw.ipynb", "onlinetext.html"] == sorted(names(found["Ada Lovelace"]))
    assert {"moodle": "12"} == found["Ada Lovelace"].keys


def test_moodle_can_leave_folders_out(tmp_path: Path) -> None:
    folder = make_folder(tmp_path, {"Ada B_12_assignsubmission_file_my_hw.ipynb": ""})
    (found,) = read_layout(folder).handed_in
    assert ("Ada B", ["my_hw.ipynb"]) == (found.name, names(found))


def test_gradescope_says_in_a_file_whose_each_is(tmp_path: Path) -> None:
    files = {"submission_metadata.yml": METADATA, "submission_101/hw.ipynb": "x"}
    found = read_layout(make_folder(tmp_path, {**files, "submission_102/hw.ipynb": "x"}))
    ada, kim = found.handed_in
    assert ("gradescope", ("submission_102",)) == (found.layout, found.strangers)
    assert {"sid": "0012", "email": "ada@example.org", "gradescope": "submission_101"} == ada.keys
    assert {"sid": "13", "gradescope": "submission_101"} == kim.keys
    assert "金 民" == kim.name
    assert ada.files == kim.files
    assert ada.at.startswith("2026-11-03T12:05:33")


@pytest.mark.parametrize(
    "field",
    [
        ":results: !ruby/hash:ActiveSupport::HashWithIndifferentAccess {}",
        ":due: 2026-02-30",
        ":output: !binary |-\n      4pyT",
        ':log: "a\x1b[0m\x07"',
        ":score: .inf",
    ],
)
def test_a_field_of_gradescope_that_nobody_needs_may_hold_anything(
    tmp_path: Path, field: str
) -> None:
    metadata = METADATA.replace(":score: 0.0", field)
    files = {"submission_metadata.yml": metadata, "submission_101/hw.ipynb": "x"}
    ada, _ = read_layout(make_folder(tmp_path, files)).handed_in
    assert ("Ada Lovelace", "0012") == (ada.name, ada.keys["sid"])
    assert "2026-11-03T12:05:33.123456+00:00" == ada.at


def test_what_a_class_has_printed_is_passed_over_in_gradescopes_file(tmp_path: Path) -> None:
    """To build 15 MB of it took 2 GB of memory and a minute."""
    printed = METADATA.replace(":results: {}", ":results:\n" + "    - [[[[[[]]]]]]\n" * 50_000)
    files = {"submission_metadata.yml": printed, "submission_101/hw.ipynb": "x"}
    folder = make_folder(tmp_path, files)
    tracemalloc.start()
    try:
        ada, _ = read_layout(folder).handed_in
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert "Ada Lovelace" == ada.name
    assert peak < 20 * 2**20


def test_gradescope_may_write_a_text_once_and_refer_to_it(tmp_path: Path) -> None:
    """As Ruby does for one object that is in two places."""
    metadata = METADATA.replace(":email: ada@", ":login: &1 a@x\n    :email: *1\n    :old: ada@")
    files = {"submission_metadata.yml": metadata, "submission_101/hw.ipynb": "x"}
    ada, _ = read_layout(make_folder(tmp_path, files)).handed_in
    assert "a@x" == ada.keys["email"]


def test_a_file_of_gradescopes_with_too_much_in_it_is_told_with_a_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(layouts, "MOST_EVENTS", 10)
    files = {"submission_metadata.yml": METADATA, "submission_101/hw.ipynb": "x"}
    folder = make_folder(tmp_path, files)
    with pytest.raises(UsageError, match="too large to be read") as refused:
        read_layout(folder)
    assert "--from folders" in refused.value.hint.english
    assert 1 == len(read_layout(folder, "folders").handed_in)


@pytest.mark.parametrize(
    "content",
    [
        "[",
        "- a",
        "submission_1: {':submitters': 3}",
        "a: !!python/name:os.system x",
        "a: 2026-13-45",
        "a: &a {':submitters': [*a]}",
        '"a": {":submitters": 1, "x": "\\',
    ],
)
def test_a_file_that_gradescope_has_not_written_is_refused(tmp_path: Path, content: str) -> None:
    folder = make_folder(tmp_path, {"submission_metadata.yml": content, "submission_1/hw": "x"})
    with pytest.raises(UsageError, match="does not have Gradescope's format"):
        read_layout(folder)


def test_brightspace_tells_when(tmp_path: Path) -> None:
    found = read_layout(laid_out(tmp_path, "brightspace")).handed_in
    of_ada = [each for each in found if each.name == "Ada Lovelace"]
    assert ["2026-03-29T12:05:00", "2026-03-30T09:05:00"] == sorted(each.at for each in of_ada)
    (of_kim,) = (each for each in found if each.name == "Min - Kim")
    assert ["hw - final.ipynb"] == names(of_kim)


def test_a_time_in_other_words_is_kept(tmp_path: Path) -> None:
    folder = make_folder(tmp_path, {"1-2 - Ada - Blursday 9, 2026 1205 PM/hw": "x"})
    (found,) = read_layout(folder).handed_in
    assert ("", "Blursday 9, 2026 1205 PM") == (found.at, found.said)


@pytest.mark.parametrize(
    ("words", "at"),
    [
        ("29 mars 2026 1205", "2026-03-29T12:05:00"),
        ("1 déc. 2026 23 h 59", "2026-12-01T23:59:00"),
        ("1 dic 2026 2005", "2026-12-01T20:05:00"),
        ("1. Dez. 2026 2005", "2026-12-01T20:05:00"),
        ("2026年3月29日 905", "2026-03-29T09:05:00"),
        ("2026년 3월 29일 오후 905", "2026-03-29T21:05:00"),
        ("2026-03-29 905 PM", "2026-03-29T21:05:00"),
        ("March 29, 2026 9_05 PM", "2026-03-29T21:05:00"),
        ("30 févr. 2026 1205", ""),
    ],
)
def test_brightspace_writes_times_in_its_languages(tmp_path: Path, words: str, at: str) -> None:
    folder = make_folder(tmp_path, {f"1-2 - Ada - {words}/hw.ipynb": "x"})
    (found,) = read_layout(folder, "brightspace").handed_in
    assert ("Ada", at) == (found.name, found.at)
    (tmp_path / f"1-2 - Ada - {words}").rename(tmp_path / "moved")
    folder = make_folder(tmp_path / "b", {f"1-2 - Ada - {words} - hw.ipynb": "x"})
    (found,) = read_layout(folder, "brightspace").handed_in
    assert ("Ada", at, ["hw.ipynb"]) == (found.name, found.at, names(found))


@pytest.mark.parametrize(
    ("layout", "before"),
    [
        ("moodle", "Eve Gray_12_assignsubmission_file_"),
        ("brightspace", "12-34 - Eve Gray - Nov 3, 2026 1205 PM - "),
    ],
)
def test_files_called_as_blackboard_calls_them_change_no_layout(
    tmp_path: Path, layout: str, before: str
) -> None:
    """Two that were called `x_bob_attempt_...` were Bob's, at the time that Eve had written."""
    files = {f"{before}x_bob_attempt_2026-11-03-12-05-0{n}_hw.ipynb": "" for n in range(2)}
    found = read_layout(make_folder(tmp_path, files))
    assert (layout, ["Eve Gray"]) == (found.layout, [each.name for each in found.handed_in])


def test_blackboard_tells_when(tmp_path: Path) -> None:
    files = {f"HW_1_{user}_attempt_2026-11-03-12-05-0{user}_hw.ipynb": "" for user in (7, 8)}
    found = read_layout(make_folder(tmp_path, files), assignment="HW_1")
    assert ("blackboard", ()) == (found.layout, found.strangers)
    told = [(each.keys.get("user"), each.at, names(each)) for each in found.handed_in]
    day = "2026-11-03T12:05"
    assert [("7", f"{day}:07", ["hw.ipynb"]), ("8", f"{day}:08", ["hw.ipynb"])] == told


def test_of_a_clone_only_the_files_are_taken(tmp_path: Path) -> None:
    found = by_student(read_layout(laid_out(tmp_path, "classroom")).handed_in)
    assert {"hw-ada": ["hw.ipynb"], "hw-min-kim": []} == {k: names(v) for k, v in found.items()}


def test_nbgrader_tells_when(tmp_path: Path) -> None:
    written = "2026-11-03 12:05:33.5 UTC"
    folder = laid_out(tmp_path, "nbgrader", **{"submitted/ada/hw/timestamp.txt": written})
    (found,) = read_layout(folder).handed_in
    assert ("2026-11-03T12:05:33.500000+00:00", ["hw.ipynb"]) == (found.at, names(found))


@pytest.mark.parametrize("year", ["0001", "1999", "9999"])
def test_no_time_of_another_age_is_believed(tmp_path: Path, year: str) -> None:
    stamp = {"submitted/ada/hw/timestamp.txt": f"{year}-12-31 23:59:59.0 UTC"}
    (found,) = read_layout(laid_out(tmp_path, "nbgrader", **stamp)).handed_in
    assert "" == found.at


def test_one_of_several_assignments_of_nbgrader_has_to_be_named(tmp_path: Path) -> None:
    folder = laid_out(tmp_path, "nbgrader", **{"submitted/ada/hw2/other.ipynb": "x"})
    with pytest.raises(UsageError, match="several assignments") as raised:
        read_layout(folder)
    assert "hw, hw2" in raised.value.hint.english
    assert ["other.ipynb"] == names(read_layout(folder, assignment="hw2").handed_in[0])


def test_an_assignment_that_nbgrader_does_not_have_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no assignment other") as raised:
        read_layout(laid_out(tmp_path, "nbgrader"), assignment="other")
    assert "--assignment: hw." in raised.value.hint.english


def test_a_folder_is_somebodys_and_so_is_a_notebook(tmp_path: Path) -> None:
    found = read_layout(laid_out(tmp_path, "folders", **{"readme.txt": "x"}))
    assert {"ada", "min", "grace", "linus"} == set(by_student(found.handed_in))
    assert ("readme.txt",) == found.strangers


def test_an_archive_of_another_kind_and_a_renamed_notebook_are_somebodys(tmp_path: Path) -> None:
    files = ["ada.rar", "min.ipynb.json", "grace.tar.gz", "linus.ipynb"]
    found = read_layout(make_folder(tmp_path, dict.fromkeys(files, "x")))
    assert {"ada", "min", "grace", "linus"} == set(by_student(found.handed_in))


def test_links_are_not_followed(tmp_path: Path) -> None:
    secret = make_folder(tmp_path / "secret", {"hw.ipynb": "x"})
    folder = laid_out(tmp_path, "folders")
    (folder / "mallory").symlink_to(secret)
    (folder / "ada" / "link.ipynb").symlink_to(secret / "hw.ipynb")
    found = by_student(read_layout(folder).handed_in)
    assert "mallory" not in found
    assert ["hw.ipynb"] == names(found["ada"])


def test_a_layout_that_is_demanded_and_explains_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="the layout canvas"):
        read_layout(laid_out(tmp_path, "moodle"), "canvas")


def test_a_layout_that_is_demanded_is_read_among_strangers(tmp_path: Path) -> None:
    others = {str(each): "x" for each in range(9)}
    found = read_layout(laid_out(tmp_path, "moodle", **others), "moodle")
    assert (2, 9) == (len(found.handed_in), len(found.strangers))
