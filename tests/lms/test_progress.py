"""Collecting says that it goes on, also while there is only one student, or one large folder."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.language import NOTHING, Text
from grader.lms.archives import ArchiveLimits, unpack
from grader.lms.collect import CollectRequest, collect_class
from grader.lms.delivery import Delivery
from grader.lms.placing import ClassRoom, place_files
from grader.progress import Pace
from tests.lms.archives import make_folder, make_zip, tar_member
from tests.lms.collecting import shared_reader

COUNT = 30
FILES = {"hw.py": "1", "src/a.py": "2"}


class Told:
    """Counts the steps of each stage."""

    def __init__(self) -> None:
        self.steps: list[int] = []

    def stage(self, _name: Text, *, waits: bool = False) -> None:
        del waits
        self.steps.append(0)

    def step(self, _done: int, _total: int, _label: Text = NOTHING) -> None:
        self.steps[-1] += 1


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have every small step told, whatever the clock says."""
    monkeypatch.setattr(Pace, "seconds", 0.0)


class TestPace:
    @pytest.fixture(autouse=True)
    def patient(self, monkeypatch: pytest.MonkeyPatch, impatient: None) -> None:
        monkeypatch.undo()

    def test_it_tells_once_a_second(self) -> None:
        told: list[float] = []
        times: Iterator[float] = iter([0.0, 0.5, 0.9, 1.0, 1.5, 2.5, 2.6])
        pace = Pace(lambda: told.append(0), lambda: next(times))
        steps = []
        for _ in range(6):
            pace.step()
            steps.append(len(told))
        assert [0, 0, 1, 1, 2, 2] == steps


def test_files_of_one_student_are_told_as_they_come(tmp_path: Path) -> None:
    files = {f"ada/{at}/hw.py": "x" for at in range(COUNT)}
    archive, told = make_zip(tmp_path / "a.zip", files), Told()
    collect_class(CollectRequest((archive,), tmp_path / "class"), None, told, shared_reader())
    unpacking, collecting = told.steps
    assert unpacking >= COUNT
    assert collecting >= COUNT


def test_so_are_those_that_are_removed(tmp_path: Path) -> None:
    """Only the end of a tar shows that there were too many; a fifth of them is there by then."""
    told, folder = Told(), tmp_path / "inside"
    folder.mkdir()
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        for at in range(COUNT):
            tar_member(archive, f"mallory/{at}.py")
        tar_member(archive, "ada/hw.py")
    told.stage(NOTHING)
    limits = ArchiveLimits(files=COUNT - 5, shared=True)
    assert unpack(tmp_path / "a.tar", folder, shared_reader(), limits, told).left_out
    assert ["ada", "mallory"] == sorted(each.name for each in folder.iterdir())
    assert [] == list((folder / "mallory").iterdir())
    assert told.steps[0] >= 2 * (COUNT - 5) // 5, "so many were written, and all of them removed"


class TestAFolderOfOneStudent:
    """Files that were unpacked for one student are moved as the folders they lie in."""

    def place(self, folder: Path, files: dict[str, str], *others: Delivery) -> tuple[Path, int]:
        """Place a student's files; return where, and what number their folder `src` had."""
        theirs = tuple((folder / "ada" / name, name) for name in sorted(files))
        number = (folder / "ada" / "src").stat().st_ino
        mine = Delivery("ada", {"folder": "ada"}, theirs)
        output = folder / "output"
        output.mkdir()
        room = ClassRoom((mine, *others), 1000)
        place_files(mine, output, shared_reader, room.of(mine), Pace(lambda: None))
        found = {
            each.relative_to(output).as_posix(): each.read_text()
            for each in output.rglob("*")
            if each.is_file()
        }
        assert files == found
        return output, number

    def test_it_is_moved_whole(self, tmp_path: Path) -> None:
        make_folder(tmp_path / "ada", FILES)
        output, number = self.place(tmp_path, FILES)
        assert number == (output / "src").stat().st_ino

    def test_it_is_not_where_something_else_lies_there(self, tmp_path: Path) -> None:
        make_folder(tmp_path / "ada", {**FILES, "src/.DS_Store": "3"})
        output, number = self.place(tmp_path, FILES)
        assert number != (output / "src").stat().st_ino

    def test_it_is_not_where_somebody_else_has_handed_it_in_too(self, tmp_path: Path) -> None:
        make_folder(tmp_path / "ada", FILES)
        other = Delivery("bob", {"folder": "bob"}, ((tmp_path / "ada/hw.py", "hw.py"),))
        self.place(tmp_path, FILES, other)
        assert "1" == (tmp_path / "ada/hw.py").read_text()

    def test_names_that_are_no_paths_of_files_are_placed_one_by_one(self, tmp_path: Path) -> None:
        """A system that is asked by its API tells names, and their files are called by numbers."""
        make_folder(tmp_path, {"0": "1", "1": "2"})
        deep = "/".join("d" * 50)
        files = ((tmp_path / "0", f"{deep}/a.py"), (tmp_path / "1", f"{deep}/b.py"))
        mine, output = Delivery("ada", {"folder": "ada"}, files), tmp_path / "output"
        output.mkdir()
        room = ClassRoom((mine,), 1000)
        place_files(mine, output, shared_reader, room.of(mine), Pace(lambda: None))
        assert ["a.py", "b.py"] == sorted(each.name for each in (output / deep).iterdir())
