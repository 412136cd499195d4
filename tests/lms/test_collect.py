"""Collecting a class: a folder for each student, whatever the archive, and however often."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from grader.errors import UsageError
from grader.lms.archives import LeftOut
from grader.lms.collect import (
    Collected,
    CollectedFolders,
    CollectOutcome,
    CollectRequest,
    collect_class,
    collected_times,
    read_manifest,
)
from grader.lms.roster import Roster, RosterPerson
from grader.reading.reader import SubmissionReader
from tests.lms.archives import make_folder, make_zip, zipped

ROSTER = Roster(
    [
        RosterPerson("ada", "Ada Lovelace", {"canvas": "1234"}),
        RosterPerson("min", "김 민", {"canvas": "77"}),
        RosterPerson("grace", "Grace Hopper", {}),
    ]
)


READER: list[SubmissionReader] = []


@pytest.fixture(autouse=True, scope="module")
def reader() -> Iterator[None]:
    """The process that unpacks for all of these tests."""
    with SubmissionReader() as found:
        READER.append(found)
        yield
    READER.clear()


def collected(tmp_path: Path, files: Mapping[str, str | bytes], roster: Roster | None = None):
    archive = make_zip(tmp_path / "submissions.zip", files)
    wanted = CollectRequest((archive,), tmp_path / "class")
    return collect_class(wanted, roster, reader=READER[0])


def below(folder: Path) -> dict[str, str]:
    files = (each for each in folder.rglob("*") if each.is_file())
    return {each.relative_to(folder).as_posix(): each.read_text() for each in files}


def submissions(tmp_path: Path) -> dict[str, str]:
    return below(tmp_path / "class" / "submissions")


def test_names_of_a_zip_of_windows_are_read_in_its_encoding(tmp_path: Path) -> None:
    roster = Roster([RosterPerson("sun", "孙悟空", {}), RosterPerson("lin", "林黛玉", {})])
    archive = make_zip(tmp_path / "a.zip", {"xxxxxx/hw.ipynb": "s", "yyyyyy/hw.ipynb": "l"})
    content = archive.read_bytes().replace(b"xxxxxx", "孙悟空".encode("gbk"))
    archive.write_bytes(content.replace(b"yyyyyy", "林黛玉".encode("gbk")))
    wanted = CollectRequest((archive,), tmp_path / "class")
    outcome = collect_class(wanted, roster, reader=READER[0])
    assert {"sun/hw.ipynb": "s", "lin/hw.ipynb": "l"} == submissions(tmp_path)
    assert {"a.zip": "gbk"} == outcome.encodings


def test_an_archive_of_another_kind_is_left_out_with_its_name(tmp_path: Path) -> None:
    outcome = collected(tmp_path, {"lovelaceada_1234_9_hw.7z": "7z", "kimmin_77_8_hw.ipynb": "x"})
    assert [LeftOut("hw.7z", "foreign")] == [
        left_out for each in outcome.collected.students for left_out in each.attempts[-1].left_out
    ]


def test_each_student_has_a_folder(tmp_path: Path) -> None:
    outcome = collected(
        tmp_path, {"lovelaceada_1234_9_hw.ipynb": "ada's", "kimmin_77_8_hw.ipynb": "min's"}
    )
    assert {
        "lovelaceada-1234/hw.ipynb": "ada's",
        "kimmin-77/hw.ipynb": "min's",
    } == submissions(tmp_path)
    assert (("canvas",), ("kimmin-77", "lovelaceada-1234")) == (outcome.layouts, outcome.new)


def test_the_roster_says_what_a_folder_is_called(tmp_path: Path) -> None:
    outcome = collected(
        tmp_path,
        {"x_1234_9_hw.ipynb": "", "y_77_8_hw.ipynb": "", "mallory_5_7_hw.ipynb": ""},
        ROSTER,
    )
    assert {"ada/hw.ipynb", "min/hw.ipynb", "mallory-5/hw.ipynb"} == set(submissions(tmp_path))
    assert (("mallory-5",), ("grace",)) == (outcome.unmatched, outcome.absent)


def test_who_was_matched_before_is_the_same_without_a_roster(tmp_path: Path) -> None:
    collected(tmp_path, {"lovelaceada_1234_9_hw.ipynb": "one"}, ROSTER)
    outcome = collected(tmp_path, {"lovelaceada_1234_9_hw.ipynb": "two", "ada_5_8_hw.ipynb": "x"})
    assert {"ada/hw.ipynb": "two", "ada-5/hw.ipynb": "x"} == submissions(tmp_path)
    assert (("ada-5",), ("ada",)) == (outcome.new, outcome.replaced)
    assert {"ada": "ada", "ada-5": ""} == {e.folder: e.id for e in outcome.collected.students}


def test_a_name_of_somebody_matched_before_may_be_another_ones(tmp_path: Path) -> None:
    collected(tmp_path, {"lovelaceada_1234_9_hw.ipynb": ""}, ROSTER)
    outcome = collected(tmp_path, {"lovelaceada_99_8_hw.ipynb": ""})
    assert ("lovelaceada-99",) == outcome.new


def test_what_the_roster_knows_is_kept_with_what_the_archive_says(tmp_path: Path) -> None:
    roster = Roster([RosterPerson("ada", "Ada", {"canvas": "1234", "email": "ada@example.org"})])
    outcome = collected(tmp_path, {"x_1234_9_hw.ipynb": ""}, roster)
    (student,) = outcome.collected.students
    assert {"canvas": "1234", "email": "ada@example.org"} == student.keys


def test_two_of_one_name_have_two_folders(tmp_path: Path) -> None:
    collected(tmp_path, {"kim_1_9_hw.ipynb": "one", "kim_2_8_hw.ipynb": "other"})
    assert {"kim-1/hw.ipynb": "one", "kim-2/hw.ipynb": "other"} == submissions(tmp_path)


def test_several_files_stay_together(tmp_path: Path) -> None:
    collected(tmp_path, {"kim_1_9_hw.ipynb": "a", "kim_1_8_data.csv": "b", "kim_1_7_hw.ipynb": "c"})
    assert {"hw.ipynb", "data.csv", "hw-1.ipynb"} == {
        name.removeprefix("kim-1/") for name in submissions(tmp_path)
    }


def test_what_a_student_has_packed_is_unpacked_also_within(tmp_path: Path) -> None:
    inner = zipped({"data/x.csv": "x"})
    packed = zipped({"hw.ipynb": "{}", "more.zip": inner})
    collected(tmp_path, {"kim_1_9_all.zip": packed})
    assert {
        "kim-1/all.zip/hw.ipynb": "{}",
        "kim-1/all.zip/more.zip/data/x.csv": "x",
    } == submissions(tmp_path)


def test_what_is_packed_deeper_stays_and_is_told_of(tmp_path: Path) -> None:
    packed = zipped({"more.zip": zipped({"most.zip": zipped({"hw.ipynb": "{}"})})})
    (student,) = collected(tmp_path, {"kim_1_9_all.zip": packed}).collected.students
    assert (LeftOut("all.zip/more.zip/most.zip", "nested"),) == student.attempts[-1].left_out


def test_what_cannot_be_unpacked_stays_as_it_is(tmp_path: Path) -> None:
    outcome = collected(tmp_path, {"kim_1_9_all.zip": b"not an archive"})
    (student,) = outcome.collected.students
    assert (LeftOut("all.zip", "damaged"),) == student.attempts[-1].left_out
    assert {"kim-1/all.zip": "not an archive"} == submissions(tmp_path)


def test_a_name_that_leads_out_of_a_students_archive_is_left_out(tmp_path: Path) -> None:
    outcome = collected(tmp_path, {"kim_1_9_all.zip": zipped({"../../../x": "x", "hw": "x"})})
    (student,) = outcome.collected.students
    assert (LeftOut("all.zip/../../../x", "outside"),) == student.attempts[-1].left_out
    assert {"kim-1/all.zip/hw": "x"} == submissions(tmp_path)


def test_the_same_once_more_changes_nothing(tmp_path: Path) -> None:
    files = {"kim_1_9_hw.ipynb": "{}", "lovelace_2_8_hw.ipynb": "{}"}
    collected(tmp_path, files)
    before = (tmp_path / "class" / "submissions" / "kim-1" / "hw.ipynb").stat()
    outcome = collected(tmp_path, files)
    after = (tmp_path / "class" / "submissions" / "kim-1" / "hw.ipynb").stat()
    assert ((), (), ("kim-1", "lovelace-2")) == (outcome.new, outcome.replaced, outcome.unchanged)
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


def test_what_is_handed_in_once_more_replaces_and_the_earlier_is_kept(tmp_path: Path) -> None:
    collected(tmp_path, {"kim_1_9_hw.ipynb": "first"})
    outcome = collected(tmp_path, {"kim_LATE_1_10_hw.ipynb": "second"})
    assert ("kim-1",) == outcome.replaced
    assert {
        "submissions/kim-1/hw.ipynb": "second",
        "earlier/kim-1/1/hw.ipynb": "first",
    }.items() <= below(tmp_path / "class").items()
    (student,) = outcome.collected.students
    assert ["earlier/kim-1/1", "submissions/kim-1"] == [each.folder for each in student.attempts]
    assert [False, True] == [each.late for each in student.attempts]


def test_an_older_archive_does_not_replace_what_came_after_it(tmp_path: Path) -> None:
    name = "1-2 - Kim - Mar {}, 2026 905 AM/hw.ipynb"
    collected(tmp_path, {name.format(30): "second"})
    collected(tmp_path, {name.format(29): "first", name.format(30): "second"})
    assert {"Kim-1/hw.ipynb": "second"} == submissions(tmp_path)
    assert "first" == (tmp_path / "class/earlier/Kim-1/1/hw.ipynb").read_text()


def test_of_several_attempts_in_one_archive_the_last_counts(tmp_path: Path) -> None:
    name = "1-2 - Kim - Mar {}, 2026 905 AM/hw.ipynb"
    collected(tmp_path, {name.format(30): "last", name.format(4): "first", name.format(9): "mid"})
    assert {"Kim-1/hw.ipynb": "last"} == submissions(tmp_path)
    earlier = below(tmp_path / "class" / "earlier" / "Kim-1")
    assert {"1/hw.ipynb": "first", "2/hw.ipynb": "mid"} == earlier


def test_months_come_in_the_order_of_the_year_and_not_of_the_alphabet(tmp_path: Path) -> None:
    name = "1-2 - Kim - {} 5, 2026 905 AM/hw.ipynb"
    collected(tmp_path, {name.format(each): each for each in ("Sep", "Apr", "Oct", "Mar")})
    assert {"Kim-1/hw.ipynb": "Oct"} == submissions(tmp_path)
    earlier = below(tmp_path / "class" / "earlier" / "Kim-1")
    assert {"1/hw.ipynb": "Mar", "2/hw.ipynb": "Apr", "3/hw.ipynb": "Sep"} == earlier


def test_a_call_that_was_killed_is_gone_on_with(tmp_path: Path) -> None:
    """Whatever it had put in its place and not yet written down."""
    files = {"kim_1_9_hw.ipynb": "{}", "lovelace_2_8_hw.ipynb": "{}"}
    collected(tmp_path, files)
    (tmp_path / "class" / "collected.json").unlink()
    shutil.rmtree(tmp_path / "class" / "submissions" / "lovelace-2")
    make_folder(tmp_path / "class" / ".incoming", {"kim-1/half": ""})
    outcome = collected(tmp_path, files)
    assert ("kim-1", "lovelace-2") == outcome.new
    assert {"kim-1/hw.ipynb", "lovelace-2/hw.ipynb"} == set(submissions(tmp_path))
    assert not (tmp_path / "class" / "earlier").exists()


def test_several_sources_are_collected_together(tmp_path: Path) -> None:
    on_time = make_zip(tmp_path / "a.zip", {"kim_1_9_hw.ipynb": "a", "ada_2_8_hw.ipynb": "a"})
    late = make_folder(tmp_path / "late", {"kim_1_10_hw.ipynb": "b"})
    outcome = collect_class(CollectRequest((on_time, late), tmp_path / "class"))
    assert {"kim-1/hw.ipynb": "b", "ada-2/hw.ipynb": "a"} == submissions(tmp_path)
    assert (("ada-2",), ("kim-1",)) == (outcome.new, outcome.replaced)


def test_links_of_a_folder_are_told_of(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "given", {"ada/hw.ipynb": "{}"})
    (folder / "ada" / "solution.ipynb").symlink_to("/etc/passwd")
    outcome = collect_class(CollectRequest((folder,), tmp_path / "class"))
    assert (LeftOut("ada/solution.ipynb", "link"),) == outcome.collected.left_out
    assert {"ada/hw.ipynb"} == set(submissions(tmp_path))


@pytest.mark.parametrize("name", ["..", ".", "a/b", "김 민", "con:", "x" * 300])
def test_a_student_may_have_any_name(tmp_path: Path, name: str) -> None:
    roster = Roster([RosterPerson(name, "Ada", {"canvas": "1"})])
    outcome = collected(tmp_path, {"a_1_9_hw.ipynb": "{}"}, roster)
    (folder,) = (tmp_path / "class" / "submissions").iterdir()
    assert "{}" == (folder / "hw.ipynb").read_text()
    assert [name] == [each.id for each in outcome.collected.students]


def test_the_manifest_is_for_its_owner_alone(tmp_path: Path) -> None:
    outcome = collected(tmp_path, {"kim_1_9_hw.ipynb": "{}"})
    path = tmp_path / "class" / "collected.json"
    assert 0o600 == path.stat().st_mode & 0o777
    assert outcome.collected == read_manifest(tmp_path / "class")
    assert 1 == json.loads(path.read_bytes())["version"]


def test_a_manifest_of_somebody_else_is_not_written_over(tmp_path: Path) -> None:
    make_folder(tmp_path / "class", {"collected.json": "[]"})
    with pytest.raises(UsageError, match="an earlier collection"):
        collected(tmp_path, {"kim_1_9_hw.ipynb": "{}"})


def test_it_does_not_collect_itself(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "given", {"ada/hw.ipynb": "{}"})
    with pytest.raises(UsageError, match="is inside the folder that is to be collected"):
        collect_class(CollectRequest((folder,), folder / "class"))


def test_a_source_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no file or folder"):
        collect_class(CollectRequest((tmp_path / "gone.zip",), tmp_path / "class"))


def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(place))
    outcome: CollectOutcome = collected(tmp_path, {"kim_1_9_hw.ipynb": "{}"})
    assert isinstance(outcome.collected, Collected)
    assert [] == list(place.iterdir())
    assert not (tmp_path / "class" / ".incoming").exists()


def test_it_is_known_when_a_folder_was_handed_in(tmp_path: Path) -> None:
    name = "1-2 - Kim - Mar {}, 2026 905 AM/hw.ipynb"
    collected(tmp_path, {name.format(30): "last", name.format(4): "first", "ada/hw.ipynb": "x"})
    times = collected_times(tmp_path / "class")
    assert {
        tmp_path / "class/submissions/Kim-1": "2026-03-30 09:05",
        tmp_path / "class/earlier/Kim-1/1": "2026-03-04 09:05",
    } == {path: f"{at.replace(tzinfo=None):%Y-%m-%d %H:%M}" for path, at in times.items()}
    assert all(at.utcoffset() is not None for at in times.values())


def test_a_time_before_all_others_is_not_known(tmp_path: Path) -> None:
    """A student's own program may have written it: it ended the recording of the whole class."""
    collected(tmp_path, {"1-2 - Kim - Jan 1, 0001 1200 AM/hw.ipynb": "x"})
    assert {} == collected_times(tmp_path / "class")


def test_a_manifest_of_a_later_grader_is_left_as_it_is(tmp_path: Path) -> None:
    """It was written anew, without what only the later one knows."""
    collected(tmp_path, {"kim_1_9_hw.ipynb": "{}"})
    path = tmp_path / "class" / "collected.json"
    path.write_text(path.read_text().replace('"version": 1', '"version": 2, "more": 1'))
    before = path.read_bytes()
    with pytest.raises(UsageError, match="written by a later grader"):
        collected(tmp_path, {"kim_1_9_hw.ipynb": "{}"})
    assert before == path.read_bytes()


def test_a_later_manifest_of_another_form_is_not_to_be_moved_away(tmp_path: Path) -> None:
    (tmp_path / "collected.json").write_text('{"version": 2, "students": {"kim": 1}}')
    with pytest.raises(UsageError, match="written by a later grader"):
        read_manifest(tmp_path)


@pytest.mark.parametrize(
    "content", [b'{"students": [{"id": "\xff"}]}', b'{"x": ' + b"[" * 9999 + b"]" * 9999 + b"}"]
)
def test_a_manifest_that_a_student_made_ends_nothing(tmp_path: Path, content: bytes) -> None:
    """A batch of one student's folder ended with an internal error."""
    (tmp_path / "collected.json").write_bytes(content)
    assert CollectedFolders().find(tmp_path / "hw.ipynb", tmp_path) is None


def test_a_manifest_without_an_end_is_not_read(tmp_path: Path) -> None:
    """A link to a device, of a cloned repository, took all memory."""
    (tmp_path / "collected.json").symlink_to("/dev/zero")
    assert CollectedFolders().find(tmp_path / "hw.ipynb", tmp_path) is None
