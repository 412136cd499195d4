"""The mounts of a sandbox, as options.

Which folders a box must cover, and what is left to read where nothing can be covered.
"""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path

import pytest

from grader.errors import SandboxError
from grader.sandbox import layout
from grader.sandbox.layout import (
    covers,
    hiding_options,
    interpreter_folders,
    is_for_packages,
    readable_beside,
)


class TestInterpreterFolders:
    def test_the_running_interpreter_is_covered(self) -> None:
        folders = (Path("/usr"), *interpreter_folders())
        for place in (sys.prefix, sys.base_prefix, Path(sys.executable).resolve()):
            assert any(Path(place).is_relative_to(folder) for folder in folders)

    def test_no_folder_is_within_another(self) -> None:
        folders = (Path("/usr"), *interpreter_folders())
        for folder in folders:
            assert not any(folder.is_relative_to(other) for other in folders if other != folder)


class TestHidingOptions:
    def test_a_package_beside_the_libraries_is_covered(self) -> None:
        package = Path("/venv/lib/site-packages/grader")
        options = hiding_options(package, (Path("/venv"),))
        assert options[-4:] == ["--tmpfs", str(package), "--remount-ro", str(package)]

    def test_a_package_in_the_system_s_folder_is_covered(self) -> None:
        assert hiding_options(Path("/usr/lib/python3/dist-packages/grader"), ())

    def test_a_package_elsewhere_is_not_there_anyway(self) -> None:
        assert hiding_options(Path("/home/me/grader"), (Path("/venv"),)) == []


@pytest.fixture
def shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that boxes show, in which there are a course, a link and a library."""
    for name in ("share/course/assignments", "share/doc", "lib"):
        (tmp_path / "shown" / name).mkdir(parents=True)
    (tmp_path / "secret").mkdir()
    (tmp_path / "shown" / "share" / "link").symlink_to(tmp_path / "secret")
    monkeypatch.setattr(layout, "shown_folders", lambda: (tmp_path / "shown",))
    return tmp_path / "shown"


class TestCovers:
    def test_what_no_box_shows_needs_no_cover(self, tmp_path: Path) -> None:
        assert () == covers([tmp_path, tmp_path / "missing"])

    def test_a_folder_below_a_shown_one_is_covered_once(self, shown: Path) -> None:
        course = shown / "share" / "course"
        assert (course,) == covers([course / "assignments", course])

    def test_of_a_file_it_is_the_folder(self, shown: Path) -> None:
        notebook = shown / "share" / "hw.ipynb"
        notebook.touch()
        assert (shown / "share",) == covers([notebook])

    def test_a_link_to_a_shown_folder_leads_to_it(self, shown: Path, tmp_path: Path) -> None:
        (tmp_path / "course").symlink_to(shown / "share" / "course")
        assert (shown / "share" / "course",) == covers([tmp_path / "course"])

    def test_a_shown_folder_that_is_spelt_with_a_link_is_covered_there(
        self, shown: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "spelt").symlink_to(shown)
        monkeypatch.setattr(layout, "shown_folders", lambda: (shown, tmp_path / "spelt"))
        places = {each / "share" / "course" for each in (shown, tmp_path / "spelt")}
        assert places == set(covers([shown / "share" / "course"]))

    @pytest.mark.parametrize("folder", [sys.prefix, sysconfig.get_paths()["purelib"]])
    def test_python_itself_cannot_be_covered(self, folder: str) -> None:
        with pytest.raises(SandboxError, match="it contains Python itself") as raised:
            covers([Path(folder)])
        assert ".venv" in raised.value.hint.english

    def test_a_course_around_the_environment_is_no_problem(self) -> None:
        assert () == covers([Path(sys.prefix).resolve().parent])


class TestReadableBeside:
    def test_without_anything_to_close_all_is_readable(self, shown: Path) -> None:
        readable, listed = readable_beside([])
        assert shown in readable
        assert () == listed

    def test_a_folder_on_the_way_is_taken_apart(self, shown: Path) -> None:
        readable, listed = readable_beside([shown / "share" / "course"])
        assert {shown / "lib", shown / "share" / "doc"} == {
            path for path in readable if path.is_relative_to(shown)
        }
        assert () == listed

    def test_a_link_beside_it_opens_nothing(self, shown: Path) -> None:
        readable, _ = readable_beside([shown / "share" / "course"])
        assert not any(path.name in ("link", "secret") for path in readable)

    def test_where_python_looks_for_packages_names_can_be_listed(
        self, shown: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(layout, "_python_folders", lambda: {shown / "share"})
        _, listed = readable_beside([shown / "share" / "course"])
        assert (shown / "share",) == listed


def test_the_folder_of_installed_packages_is_known() -> None:
    assert is_for_packages(Path(sysconfig.get_paths()["purelib"]))
    assert not is_for_packages(Path(sys.prefix))
