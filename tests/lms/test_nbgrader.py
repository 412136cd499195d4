"""nbgrader's exchange of files: what students can do in it, and what goes back through it."""

from __future__ import annotations

import hashlib
import os
import zipfile
from collections.abc import Mapping
from datetime import datetime, timezone
from io import BytesIO
from pathlib import Path

import msgspec
import pytest

from grader.errors import UsageError
from grader.lms import nbgrader
from grader.lms.choices import Layout
from grader.lms.collect import Collected, CollectOutcome, read_manifest
from grader.lms.handback import Works, pack_pages, read_works
from grader.lms.nbgrader import SubmissionNote, find_inbound, note_of, take_inbound, user_name
from grader.lms.roster import Roster, RosterPerson
from grader.report import encode_report
from tests.lms.archives import make_folder
from tests.lms.collecting import collect, contents, reasons
from tests.sample_reports import typical

OWN = user_name(os.getuid())
"""Whoever runs the tests hands in as a student of this name."""

NOW = datetime(2026, 11, 23, tzinfo=timezone.utc)
AT = "2026-11-03 12:05:33.123456 UTC"
LATER = "2026-11-04 08:00:00.000001 UTC"
SECRET = "0f" * 64


def attempt(user: str = OWN, at: str = AT, text: str = "x", secret: str = SECRET) -> dict[str, str]:
    """Return the files of one `nbgrader submit`."""
    folder = f"inbound/{user}+hw+{at}+cmFuZG9t"
    notes = {"timestamp.txt": at, "submission_secret.txt": secret}
    files = {"hw.ipynb": text, **{name: note for name, note in notes.items() if note}}
    return {f"{folder}/{name}": content for name, content in files.items()}


def exchange(tmp_path: Path, *attempts: Mapping[str, str]) -> Path:
    """Return a course's folder of an exchange."""
    files = {name: text for each in attempts for name, text in each.items()}
    folder = make_folder(tmp_path / "exchange/course", files)
    (folder / "outbound/hw").mkdir(parents=True)
    return folder


def class_of(*logins: str) -> Roster:
    return Roster([RosterPerson(each, each.title(), {}) for each in logins])


class TestExchange:
    """What `nbgrader submit` leaves in `inbound`."""

    @pytest.mark.parametrize("named", [".", "inbound"])
    def test_it_is_collected_by_user_with_the_attempts_in_order(
        self, tmp_path: Path, named: str
    ) -> None:
        folder = exchange(tmp_path, attempt(at=LATER, text="second"), attempt(text="first"))
        outcome = collect(folder / named, tmp_path / "class", class_of(OWN))
        (student,) = outcome.collected.students
        assert (("nbgrader",), ()) == (outcome.layouts, outcome.absent)
        assert (OWN, "") == (student.id, student.doubt)
        assert ["2026-11-03T12:05:33.123456+00:00", "2026-11-04T08:00:00.000001+00:00"] == [
            each.at for each in student.attempts
        ]
        last = tmp_path / "class/submissions" / OWN
        assert ["hw.ipynb"] == [each.name for each in last.iterdir()]
        assert "second" == (last / "hw.ipynb").read_text()

    def test_a_second_time_nothing_changes(self, tmp_path: Path) -> None:
        folder = exchange(tmp_path, attempt(at=LATER, text="second"), attempt(text="first"))
        first = collect(folder, tmp_path / "class")
        second = collect(folder, tmp_path / "class")
        assert ((OWN,), ()) == (second.unchanged, second.replaced)
        assert first.collected == second.collected

    def test_it_stays_as_it_is(self, tmp_path: Path) -> None:
        folder = exchange(tmp_path, attempt())
        before = sorted(folder.rglob("*"))
        collect(folder, tmp_path / "class")
        assert before == sorted(folder.rglob("*"))

    def test_a_folder_of_another_account_is_nobodys(self, tmp_path: Path) -> None:
        folder = exchange(tmp_path, attempt(), attempt("victim", text="forged"))
        outcome = collect(folder, tmp_path / "class", class_of(OWN, "victim"))
        assert [OWN] == [each.id for each in outcome.collected.students]
        assert "owner" == reasons(outcome)[f"victim+hw+{AT}+cmFuZG9t"]
        assert ("victim",) == outcome.absent

    def test_a_name_and_a_zone_may_have_a_plus(self, tmp_path: Path) -> None:
        at = "2026-11-03 12:05:33.123456 +03"
        folder = exchange(tmp_path, attempt("a+b", at))
        (found,) = taken(folder, tmp_path, {os.getuid(): "a+b"}).handed_in
        assert ({"folder": "a+b"}, "2026-11-03T12:05:33.123456+03:00") == (found.keys, found.at)

    def test_one_of_several_assignments_has_to_be_named(self, tmp_path: Path) -> None:
        other = {name.replace("+hw+", "+hw2+"): text for name, text in attempt().items()}
        folder = exchange(tmp_path, attempt(), other)
        with pytest.raises(UsageError, match="several assignments"):
            taken(folder, tmp_path)
        assert 1 == len(taken(folder, tmp_path, wanted="hw2").handed_in)

    def test_what_else_lies_there_is_a_stranger(self, tmp_path: Path) -> None:
        folder = exchange(tmp_path, attempt(), {"inbound/notes.txt": ""})
        assert ("notes.txt",) == taken(folder, tmp_path).strangers

    @pytest.mark.parametrize(
        "names", [[], ["ada", "ben"], ["ada", "ada+hw+2026-11-03 12:05:33 UTC"]]
    )
    def test_other_folders_are_no_exchange(self, tmp_path: Path, names: list[str]) -> None:
        for name in names:
            (tmp_path / name).mkdir()
        assert None is find_inbound(tmp_path)

    def test_another_layout_may_be_demanded(self, tmp_path: Path) -> None:
        layout: Layout = "folders"
        outcome = collect(
            exchange(tmp_path, attempt()) / "inbound", tmp_path / "class", None, layout
        )
        assert ("folders",) == outcome.layouts


class TestHostile:
    """Students own the folders of an exchange."""

    def test_no_link_is_followed(self, tmp_path: Path) -> None:
        make_folder(tmp_path / "course", {"reference.ipynb": "solution", "more/x": "solution"})
        folder = exchange(tmp_path, attempt())
        (own,) = (folder / "inbound").iterdir()
        (own / "hw.ipynb").unlink()
        (own / "hw.ipynb").symlink_to(tmp_path / "course/reference.ipynb")
        (own / "more").symlink_to(tmp_path / "course/more")
        outcome = collect(folder, tmp_path / "class")
        assert {"link"} == set(reasons(outcome).values())
        assert "solution" not in all_of(tmp_path / "class", outcome)

    def test_a_link_that_is_made_while_it_is_read_is_not_followed(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "solution").write_text("solution")
        folder = exchange(tmp_path, attempt())
        (own,) = (folder / "inbound").iterdir()
        really = os.listdir

        def swap(path: int | Path) -> list[str]:
            names = really(path)
            (own / "hw.ipynb").unlink(missing_ok=True)
            (own / "hw.ipynb").symlink_to(tmp_path / "solution")
            return names

        monkeypatch.setattr(nbgrader.os, "listdir", swap)
        found = taken(folder, tmp_path)
        assert [()] == [each.files for each in found.handed_in]

    @pytest.mark.skipif(os.getuid() != 0, reason="only root gives files away")
    @pytest.mark.parametrize("inner", ["hw.ipynb", "data/x"])
    def test_a_file_of_somebody_else_is_left_out(self, tmp_path: Path, inner: str) -> None:
        """A folder may be replaced by a link, or a file be a hard link to somebody else's."""
        folder = exchange(tmp_path, attempt())
        (own,) = (folder / "inbound").iterdir()
        make_folder(own, {inner: "theirs"})
        os.chown(own / inner, 1, 1)
        outcome = collect(folder, tmp_path / "class")
        assert {f"{own.name}/{inner}": "owner"} == reasons(outcome)
        assert "theirs" not in all_of(tmp_path / "class", outcome)

    def test_a_pipe_keeps_nobody_waiting(self, tmp_path: Path) -> None:
        folder = exchange(tmp_path, attempt())
        (own,) = (folder / "inbound").iterdir()
        os.mkfifo(own / "pipe")
        assert {f"{own.name}/pipe": "special"} == reasons(collect(folder, tmp_path / "class"))

    def test_a_file_that_is_too_large_is_left_out(self, tmp_path: Path) -> None:
        """It is sparse: to make it costs a student nothing, and a copy would fill the disk."""
        folder = exchange(tmp_path, attempt())
        (own,) = (folder / "inbound").iterdir()
        with (own / "a").open("wb") as file:
            file.truncate(2**40)
        assert {f"{own.name}/a": "large"} == reasons(collect(folder, tmp_path / "class"))

    def test_files_that_are_too_large_together_are_left_out(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(nbgrader, "_SIZE", 1900)
        folder = exchange(tmp_path, attempt())
        (own,) = (folder / "inbound").iterdir()
        make_folder(own, {"a": "x" * 900, "z": "x" * 900})
        assert {f"{own.name}/z": "budget"} == reasons(collect(folder, tmp_path / "class"))

    def test_of_many_attempts_the_newest_are_taken(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(nbgrader, "_FILES", 6)
        folder = exchange(tmp_path, attempt(text="first"), attempt(at=LATER, text="second"))
        outcome = collect(folder, tmp_path / "class")
        assert "second" == (tmp_path / "class/submissions" / OWN / "hw.ipynb").read_text()
        assert {"budget"} == set(reasons(outcome).values())

    def test_names_that_are_no_text_are_left_out(self, tmp_path: Path) -> None:
        folder = exchange(tmp_path, attempt())
        (own,) = (folder / "inbound").iterdir()
        (own / os.fsdecode(b"\xff.ipynb")).write_text("x")
        assert {f"{own.name}/?.ipynb": "name"} == reasons(collect(folder, tmp_path / "class"))

    def test_a_link_in_place_of_a_submission_is_left_out(self, tmp_path: Path) -> None:
        folder = exchange(tmp_path, attempt())
        (folder / "inbound" / f"{OWN}+hw+{LATER}").symlink_to(tmp_path)
        assert ["link"] == [each.reason for each in taken(folder, tmp_path).left_out]

    @pytest.mark.parametrize("secret", ["", "../x", "a b", "x" * 1000])
    def test_a_secret_that_is_none_is_not_taken_over(self, tmp_path: Path, secret: str) -> None:
        (found,) = taken(exchange(tmp_path, attempt(secret=secret)), tmp_path).handed_in
        note = note_of(found.given)
        assert note is not None
        assert note.secret in {"", "x" * 200}


class TestNotes:
    """What feedback goes back by."""

    @pytest.mark.parametrize(
        "note",
        [
            SubmissionNote("hw", AT, SECRET),
            SubmissionNote("hw 1", "2026-11-03 12:05:33.1 +0100", ""),
        ],
    )
    def test_they_are_read_back(self, note: SubmissionNote) -> None:
        assert note == note_of(note.given)

    @pytest.mark.parametrize("given", ["", "kim_1_2_a+b+c.ipynb", "nbgrader", "nbgrader+hw++x"])
    def test_what_another_system_has_given_is_none(self, given: str) -> None:
        assert None is note_of(given)

    def test_an_assignment_with_a_plus_has_none(self) -> None:
        assert "" == SubmissionNote("a+b", AT, SECRET).given


class TestFeedback:
    """`grader feedback --zip nbgrader`."""

    def test_the_page_of_an_attempt_has_its_time_and_secret(self, tmp_path: Path) -> None:
        """The best attempt counts, which need not be the last."""
        first, second = attempt(text="first"), attempt(at=LATER, text="second", secret="ee" * 64)
        outcome = collect(exchange(tmp_path, first, second), tmp_path / "class")
        works = graded(tmp_path, outcome, "first")
        files = packed(works, tmp_path / "class")
        place = f"feedback/{OWN}/hw"
        assert [f"{place}/hw.html", f"{place}/timestamp.txt", f"{place}/submission_secret.txt"] == [
            *files
        ]
        assert (AT, SECRET) == (
            files[f"{place}/timestamp.txt"],
            files[f"{place}/submission_secret.txt"],
        )
        assert files[f"{place}/hw.html"].startswith("<!doctype html>")

    def test_so_it_has_from_the_folder_of_a_course(self, tmp_path: Path) -> None:
        notes = {"timestamp.txt": AT, "submission_secret.txt": SECRET}
        files = {"hw.ipynb": "first", **notes}
        course = make_folder(
            tmp_path / "course",
            {f"submitted/{OWN}/hw/{name}": text for name, text in files.items()},
        )
        outcome = collect(course, tmp_path / "class")
        assert {"first"} == all_of(tmp_path / "class", outcome)
        found = packed(graded(tmp_path, outcome, "first"), tmp_path / "class")
        assert SECRET == found[f"feedback/{OWN}/hw/submission_secret.txt"]

    def test_without_a_secret_nobody_can_guess_the_name(self, tmp_path: Path) -> None:
        """nbgrader would end at the first submission without one."""
        outcome = collect(exchange(tmp_path, attempt(secret="")), tmp_path / "class")
        files = packed(graded(tmp_path, outcome, "x"), tmp_path / "class")
        assert 64 == len(files[f"feedback/{OWN}/hw/submission_secret.txt"])

    @pytest.mark.parametrize("is_known", [True, False])
    def test_a_file_that_was_not_collected_is_told(self, tmp_path: Path, is_known: bool) -> None:
        outcome = collect(exchange(tmp_path, attempt()), tmp_path / "class")
        works = graded(tmp_path, outcome, "another")
        folder = tmp_path / "class" if is_known else None
        assert (OWN,) == pack_pages(works.each, "nbgrader", NOW, folder)[1]


def taken(
    folder: Path, tmp_path: Path, users: Mapping[int, str] | None = None, wanted: str | None = None
) -> nbgrader.FolderContents:
    """Take what is in an exchange, as users of these names have handed it in."""
    target = tmp_path / f"taken-{wanted}"
    target.mkdir()
    names = {os.getuid(): OWN} if users is None else users
    return take_inbound(folder / "inbound", target, wanted, lambda user: names.get(user, ""))


def all_of(folder: Path, outcome: CollectOutcome) -> set[str]:
    return {text for each in outcome.collected.students for text in contents(folder, each)}


def graded(tmp_path: Path, outcome: CollectOutcome, text: str) -> Works:
    """Return the work of a class of whom each has a report of a notebook with this text."""
    digest = hashlib.sha256(text.encode()).hexdigest()
    submission = msgspec.structs.replace(typical().submission, name="hw.ipynb", sha256=digest)
    report = msgspec.structs.replace(typical(), graded=NOW, submission=submission)
    files = {f"{each.folder}/hw.json": encode_report(report) for each in outcome.collected.students}
    make_folder(tmp_path / "reports", {**files, "summary.json": "{}"})
    manifest: Collected = read_manifest(tmp_path / "class")
    return read_works(tmp_path / "reports", manifest, tmp_path / "class")


def packed(works: Works, collected: Path) -> dict[str, str]:
    content, left_out = pack_pages(works.each, "nbgrader", NOW, collected)
    assert () == left_out
    with zipfile.ZipFile(BytesIO(content)) as archive:
        return {name: archive.read(name).decode() for name in archive.namelist()}
