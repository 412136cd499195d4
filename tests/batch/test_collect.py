"""Which files a batch grades, and what their reports are called."""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.batch.collect import Entry, collect, name_reports
from grader.errors import UsageError


def write(folder: Path, *files: str) -> None:
    for file in files:
        path = folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}")


def names(entries: tuple[Entry, ...]) -> list[str]:
    return [entry.name for entry in entries]


class TestCollect:
    """Files, and folders that are searched."""

    def test_a_folder_gives_all_notebooks_below_it_in_order(self, tmp_path: Path) -> None:
        write(tmp_path, "ben/hw.ipynb", "ada/hw.ipynb", "ada/deep/er.ipynb", "ada/notes.txt")
        assert ["ada/deep/er", "ada/hw", "ben/hw"] == names(collect([tmp_path]))

    def test_copies_that_jupyter_keeps_are_skipped(self, tmp_path: Path) -> None:
        write(tmp_path, "hw.ipynb", ".ipynb_checkpoints/hw-checkpoint.ipynb")
        assert ["hw"] == names(collect([tmp_path]))

    def test_names_begin_where_the_paths_part(self, tmp_path: Path) -> None:
        write(tmp_path, "week1/ada/hw.ipynb", "week1/ben/hw.ipynb")
        files = [tmp_path / "week1/ada/hw.ipynb", tmp_path / "week1/ben/hw.ipynb"]
        assert ["ada/hw", "ben/hw"] == names(collect(files))

    def test_one_file_is_called_by_its_own_name(self, tmp_path: Path) -> None:
        write(tmp_path, "ada/hw.ipynb")
        (entry,) = collect([tmp_path / "ada/hw.ipynb"])
        assert Entry(tmp_path / "ada/hw.ipynb", "hw.ipynb", "hw") == entry

    def test_what_is_named_twice_is_graded_once(self, tmp_path: Path) -> None:
        write(tmp_path, "ada/hw.ipynb")
        twice = [tmp_path, tmp_path / "ada/hw.ipynb", tmp_path / "ada/../ada"]
        assert ["ada/hw"] == names(collect(twice))

    def test_a_file_may_have_any_suffix_when_it_is_named_itself(self, tmp_path: Path) -> None:
        write(tmp_path, "hw.json")
        assert ["hw.json"] == names(collect([tmp_path / "hw.json"]))

    def test_relative_paths_are_taken_from_the_working_folder(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write(tmp_path, "ada/hw.ipynb", "ben/hw.ipynb")
        monkeypatch.chdir(tmp_path / "ada")
        assert ["ada/hw", "ben/hw"] == names(collect([Path("hw.ipynb"), Path("../ben")]))

    def test_a_link_that_was_handed_in_is_not_followed(self, tmp_path: Path) -> None:
        write(tmp_path, "solution.ipynb", "class/ada/hw.ipynb")
        (tmp_path / "class/ada/mine.ipynb").symlink_to(tmp_path / "solution.ipynb")
        (tmp_path / "class/folder").symlink_to(tmp_path)
        entries = {entry.name: entry.problem for entry in collect([tmp_path / "class"])}
        assert {"ada/hw": "", "ada/mine": "It is a link, which is not followed."} == entries

    def test_a_link_that_the_command_names_is_followed(self, tmp_path: Path) -> None:
        write(tmp_path, "class/hw.ipynb")
        (tmp_path / "hw.ipynb").symlink_to(tmp_path / "class/hw.ipynb")
        (entry,) = collect([tmp_path / "hw.ipynb"])
        assert "" == entry.problem

    def test_a_pipe_is_not_opened(self, tmp_path: Path) -> None:
        write(tmp_path, "hw.ipynb")
        os.mkfifo(tmp_path / "pipe.ipynb")
        entries = {entry.name: entry.problem for entry in collect([tmp_path])}
        assert {"hw": "", "pipe": "It is not a file."} == entries

    def test_a_missing_file_is_said(self, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match="There is no file or folder"):
            collect([tmp_path / "hw.ipynb"])

    def test_a_folder_without_notebooks_is_said(self, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match="No notebook was found"):
            collect([tmp_path])


class TestNames:
    """Unique, and safe below any folder."""

    @pytest.mark.parametrize(
        ("file", "name"),
        [
            ("ada/hw.ipynb", "ada/hw"),
            ("김민준/과제 1.ipynb", "김민준/과제 1"),
            ("王小明/hw (2).ipynb", "王小明/hw (2)"),
            ("José/hw.v2.ipynb", "José/hw.v2"),
            ("José/hw.ipynb".replace("é", "e\u0301"), "José/hw"),
        ],
    )
    def test_ordinary_names_stay(self, file: str, name: str) -> None:
        assert {file: name} == name_reports([file])

    @pytest.mark.parametrize(
        ("file", "beginning"),
        [
            ("summary.ipynb", "summary-"),
            (".hidden/hw.ipynb", "_hidden/hw-"),
            ("a\nb\x1b[2J.ipynb", "a_b_[2J-"),
            ("a\\b:c.ipynb", "a_b_c-"),
            ("hw.json/hw.ipynb", "hw.json_/hw-"),
            ("...ipynb", "_-"),
            ("bad\udcff.ipynb", "bad_-"),
            ("\u202etxt.ipynb", "_txt-"),
            ("ends. .ipynb", "ends-"),
            ("hw-0123456789abcdef.ipynb", "hw-0123456789abcdef-"),
        ],
    )
    def test_other_names_are_changed_and_get_a_digest(self, file: str, beginning: str) -> None:
        name = name_reports([file])[file]
        assert name.startswith(beginning)
        assert 16 == len(name.removeprefix(beginning))

    def test_long_names_are_cut_between_characters(self) -> None:
        file = "가" * 80 + "/" + "나" * 80 + ".ipynb"
        folder, last = name_reports([file])[file].split("/")
        assert "가" * 40 == folder
        assert last.startswith("나" * 40 + "-")
        assert len(f".{last}.json.part".encode()) < 255

    def test_names_that_differ_in_case_alone_are_kept_apart(self) -> None:
        files = name_reports(["Ada/hw.ipynb", "ada/hw.ipynb", "ben/hw.ipynb"])
        assert "ben/hw" == files["ben/hw.ipynb"]
        assert 3 == len({name.casefold() for name in files.values()})

    def test_nobody_can_take_a_name_that_another_gets(self) -> None:
        """A student can compute the digest of another's path."""
        changed = name_reports(["a:b.ipynb"])["a:b.ipynb"]
        files = name_reports(["a:b.ipynb", f"{changed}.ipynb"])
        assert changed == files["a:b.ipynb"]
        assert changed != files[f"{changed}.ipynb"]

    def test_a_name_does_not_depend_on_the_order(self) -> None:
        files = ["A.ipynb", "a.ipynb", "b:c.ipynb", "d.ipynb"]
        assert name_reports(files) == name_reports(files[::-1])

    @given(
        st.lists(
            st.lists(st.text("ab.:/\\\n é\0-J", min_size=1, max_size=6), min_size=1, max_size=3),
            min_size=1,
            max_size=6,
        )
    )
    def test_any_paths_get_names_below_the_folder_no_two_the_same(
        self, parts: list[list[str]]
    ) -> None:
        cleaned = ["/".join(part.replace("/", "_") for part in path) + ".ipynb" for path in parts]
        names = name_reports(cleaned)
        reports = [PurePosixPath(f"{name}.json") for name in names.values()]
        assert len(set(cleaned)) == len({str(report).casefold() for report in reports})
        for report in reports:
            assert not report.is_absolute()
            assert all(not part.startswith(".") and "\0" not in part for part in report.parts)
        folders = {parent for report in reports for parent in report.parents}
        assert folders.isdisjoint(reports)
