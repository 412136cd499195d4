"""Which files a batch grades, and what their reports are called."""

from __future__ import annotations

import os
import socket
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


def problems(entries: tuple[Entry, ...]) -> dict[str, str]:
    return {entry.name: entry.problem.english for entry in entries}


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
        assert Entry(tmp_path / "ada/hw.ipynb", "hw.ipynb", "hw", tmp_path / "ada") == entry

    def test_a_file_is_whose_folder_it_is_in(self, tmp_path: Path) -> None:
        write(tmp_path, "ada/hw.ipynb", "eve/late/hw.ipynb", "ben.ipynb")
        assert ["ada", "", "eve/late"] == [entry.whose for entry in collect([tmp_path])]

    def test_what_is_named_twice_is_graded_once(self, tmp_path: Path) -> None:
        write(tmp_path, "ada/hw.ipynb")
        twice = [tmp_path, tmp_path / "ada/hw.ipynb", tmp_path / "ada/../ada"]
        assert ["ada/hw"] == names(collect(twice))

    def test_a_file_may_have_any_suffix_when_it_is_named_itself(self, tmp_path: Path) -> None:
        write(tmp_path, "hw.json")
        assert ["hw.json"] == names(collect([tmp_path / "hw.json"]))

    @pytest.mark.parametrize("name", ["class.zip", "HW.TAR.GZ", "hw.7z"])
    def test_an_archive_that_is_named_is_not_graded(self, tmp_path: Path, name: str) -> None:
        """A class's archive was one submission, with 0 points, and the batch a success."""
        write(tmp_path, name)
        (entry,) = collect([tmp_path / name])
        assert f"{name} is an archive" in entry.problem.english
        assert "grader collect" in entry.hint.english

    def test_relative_paths_are_taken_from_the_working_folder(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write(tmp_path, "ada/hw.ipynb", "ben/hw.ipynb")
        monkeypatch.chdir(tmp_path / "ada")
        assert ["ada/hw", "ben/hw"] == names(collect([Path("hw.ipynb"), Path("../ben")]))

    def test_a_missing_file_is_said(self, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match="There is no file or folder"):
            collect([tmp_path / "hw.ipynb"])

    def test_a_pipe_a_socket_and_a_device_are_not_opened(self, tmp_path: Path) -> None:
        write(tmp_path, "hw.ipynb")
        os.mkfifo(tmp_path / "pipe.ipynb")
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(f"{tmp_path}/socket.ipynb")
            expected = {
                "hw": "",
                "pipe": "It is a named pipe, not a file.",
                "socket": "It is a socket, not a file.",
            }
            assert expected == problems(collect([tmp_path]))
            assert expected == problems(collect(sorted(tmp_path.iterdir())))
        assert {"null": "It is a device, not a file."} == problems(collect([Path("/dev/null")]))


def first_folder(entry: Entry) -> str:
    """Take the folders in that of the batch for students', as where a class was collected."""
    return entry.student


class TestFloods:
    """Of one student a few notebooks are graded, or none."""

    def test_five_are_graded(self, tmp_path: Path) -> None:
        write(tmp_path, *(f"ada/{each}.ipynb" for each in range(5)), "ben/hw.ipynb")
        assert 6 == len(collect([tmp_path], of_attempt=first_folder))

    def test_folders_that_nobody_has_made_for_students_have_no_limit(self, tmp_path: Path) -> None:
        """A recipe grades the submissions of a repository where they lie in it."""
        write(tmp_path, *(f"submissions/{each}/hw.ipynb" for each in range(9)))
        assert 9 == len(collect([tmp_path]))

    @pytest.mark.parametrize("folder", ["ada", "ada/{}", "ada/a.zip/deep"])
    def test_of_more_none_is_and_the_others_are(self, tmp_path: Path, folder: str) -> None:
        write(tmp_path, *(f"{folder}/{each}.ipynb".format(each) for each in range(30)))
        write(tmp_path, "ben/hw.ipynb")
        said = "There are 30 notebooks in ada; at most 5 are graded for one student."
        found = collect([tmp_path], of_attempt=first_folder)
        assert {"ada": said, "ben/hw": ""} == problems(found)

    def test_a_folder_of_many_students_files_is_no_flood(self, tmp_path: Path) -> None:
        write(tmp_path, *(f"{each}.ipynb" for each in range(30)))
        assert 30 == len(collect([tmp_path], of_attempt=first_folder))

    def test_what_was_handed_in_at_once_may_be_known(self, tmp_path: Path) -> None:
        """As where `submissions/` and `earlier/` of a class are graded together."""
        write(tmp_path, *(f"submissions/{each}/hw.ipynb" for each in range(9)))
        write(tmp_path, *(f"submissions/eve/{each}.ipynb" for each in range(9)))
        found = collect([tmp_path], of_attempt=lambda entry: "/".join(entry.file.split("/")[:2]))
        assert (10, 1) == (len(found), sum(bool(each.problem) for each in found))


class TestLinks:
    """None that was handed in is followed."""

    def test_neither_a_file_nor_a_folder_in_a_folder(self, tmp_path: Path) -> None:
        write(tmp_path, "solution.ipynb", "class/ada/hw.ipynb")
        (tmp_path / "class/ada/mine.ipynb").symlink_to(tmp_path / "solution.ipynb")
        (tmp_path / "class/ben").symlink_to(tmp_path)
        assert {
            "ada/hw": "",
            "ada/mine": "mine.ipynb is a link.",
            "ben": "ben is a link.",
        } == problems(collect([tmp_path / "class"]))

    def test_no_file_that_is_named(self, tmp_path: Path) -> None:
        write(tmp_path, "solution.ipynb", "class/ada/hw.ipynb")
        (tmp_path / "class/ben").mkdir()
        (tmp_path / "class/ben/hw.ipynb").symlink_to(tmp_path / "solution.ipynb")
        expected = {"ada/hw": "", "ben/hw": "hw.ipynb is a link."}
        assert expected == problems(collect(sorted(tmp_path.glob("class/*/hw.ipynb"))))

    def test_no_folder_on_the_way_to_what_is_named(self, tmp_path: Path) -> None:
        write(tmp_path, "solution/hw.ipynb", "class/ada/hw.ipynb", "class/cem/deep/hw.ipynb")
        (tmp_path / "class/ben").symlink_to(tmp_path / "solution")
        expected = {
            "ada/hw": "",
            "ben/hw": "ben is a link.",
            "cem/deep/hw": "",
        }
        names = ("ada/hw.ipynb", "ben/hw.ipynb", "cem/deep/hw.ipynb")
        files = [tmp_path / "class" / name for name in names]
        assert expected == problems(collect(files))
        assert expected == problems(collect([Path("class", name) for name in names], tmp_path))

    def test_no_folder_that_is_named(self, tmp_path: Path) -> None:
        write(tmp_path, "solution/hw.ipynb", "class/ada/hw.ipynb")
        (tmp_path / "class/ben").symlink_to(tmp_path / "solution")
        expected = {"ada/hw": "", "ben": "ben is a link."}
        assert expected == problems(collect([tmp_path / "class/ada", tmp_path / "class/ben"]))

    def test_one_by_itself_from_the_working_folder(self, tmp_path: Path) -> None:
        write(tmp_path, "solution/hw.ipynb")
        (tmp_path / "class").mkdir()
        (tmp_path / "class/ben").symlink_to(tmp_path / "solution")
        (entry,) = collect([Path("class/ben/hw.ipynb")], tmp_path)
        assert "ben is a link." == entry.problem.english

    def test_those_of_the_machine_above_are(self, tmp_path: Path) -> None:
        write(tmp_path, "disk/class/ada/hw.ipynb", "disk/class/ben/hw.ipynb")
        (tmp_path / "home").symlink_to(tmp_path / "disk")
        files = [tmp_path / f"home/class/{name}/hw.ipynb" for name in ("ada", "ben")]
        assert {"ada/hw": "", "ben/hw": ""} == problems(collect(files))
        assert {"hw": ""} == problems(collect(files[:1]))


class TestEverybodyCounts:
    """Who handed in nothing readable has an entry."""

    def test_a_folder_without_a_notebook(self, tmp_path: Path) -> None:
        write(tmp_path, "ada/hw.ipynb", "ben/notes.txt", "cem/hw.py", "dan/deep/er.ipynb")
        (tmp_path / "eve").mkdir()
        entries = collect([tmp_path])
        assert ["", "ben", "cem", "", "eve"] == [
            entry.problem.english.removeprefix("Nothing to grade in ").removesuffix(
                ": there is no notebook."
            )
            for entry in entries
        ]
        assert entries[2].hint.english.endswith("to grade them: cem/hw.py.")

    def test_an_archive_that_nobody_has_unpacked_is_named(self, tmp_path: Path) -> None:
        write(tmp_path, "ada/hw.ipynb", "ben/a.txt", "ben/hw.7z", "cem/hw.pdf")
        _, ben, cem = (each.hint.english for each in collect([tmp_path]))
        assert "Unpack hw.7z, and run the same command again." == ben
        assert cem.startswith("hw.pdf is not a notebook. ")

    @pytest.mark.parametrize("name", ["hw.ipynb.json", "hw.ipynb.txt", "hw.IPYNB.TXT"])
    def test_what_a_browser_puts_behind_a_notebooks_name_makes_no_other_file(
        self, tmp_path: Path, name: str
    ) -> None:
        write(tmp_path, f"ada/{name}", "ben/hw.ipynb")
        assert {f"ada/{name}": "", "ben/hw": ""} == problems(collect([tmp_path]))

    def test_one_with_a_link_alone(self, tmp_path: Path) -> None:
        (tmp_path / "ada").mkdir()
        (tmp_path / "ada/work").symlink_to("/")
        assert "and work is a link" in problems(collect([tmp_path]))["ada"]

    def test_links_and_tools_beside_a_notebook_do_not(self, tmp_path: Path) -> None:
        write(tmp_path, "ada/hw.ipynb", "__MACOSX/x.txt", ".git/x.txt")
        (tmp_path / "ada/lib64").symlink_to("lib")
        assert {"ada/hw": ""} == problems(collect([tmp_path]))

    def test_data_beside_a_notebook_is_nobodys_where_students_are_named(
        self, tmp_path: Path
    ) -> None:
        write(tmp_path, "ada/hw.ipynb", "ada/data/x.txt", "ben/x.txt")
        expected = {"ada/hw": "", "ben": "Nothing to grade in ben: there is no notebook."}
        assert expected == problems(collect([tmp_path / "ada", tmp_path / "ben"]))

    def test_the_folder_of_reports_is_nobodys(self, tmp_path: Path) -> None:
        write(tmp_path, "ada/hw.ipynb", "out/ada/hw.json")
        assert {"ada/hw": ""} == problems(collect([Path()], tmp_path, Path("out")))

    def test_a_folder_that_was_named(self, tmp_path: Path) -> None:
        (tmp_path / "ada").mkdir()
        expected = {"ada": "Nothing to grade in ada: there is no notebook."}
        assert expected == problems(collect([tmp_path / "ada"]))

    def test_a_path_that_is_too_long_and_one_that_is_too_deep(self, tmp_path: Path) -> None:
        write(tmp_path, "ada/hw.ipynb")
        make_deep(tmp_path, "ben", "x" * 250, 20)
        make_deep(tmp_path, "cem", "x", 70)
        entries = collect([tmp_path])
        found = [entry.problem.english for entry in entries]
        assert 3 == len(found)
        assert any(problem.endswith(": File name too long.") for problem in found)
        assert any("more than 60 folders deep" in problem for problem in found)
        assert all(len(entry.name.encode()) < 1200 for entry in entries)

    def test_notebooks_that_lie_deep_get_short_names(self, tmp_path: Path) -> None:
        make_deep(tmp_path, "ada", "x" * 250, 10, "hw.ipynb")
        (entry,) = collect([tmp_path])
        assert "" == entry.problem.english
        assert entry.name.startswith("ada/hw-")


def make_deep(
    root: Path, first: str, part: str, count: int, *files: str, folder: str = "", file: str = ""
) -> None:
    """Make folders in each other, whose path may be longer than one may be."""
    at = os.open(root, os.O_RDONLY)
    files = (*files, *filter(None, [file]))
    for name in filter(None, (first, *[part] * count, folder)):
        os.mkdir(name, dir_fd=at)
        inner = os.open(name, os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = inner
    for name in files:
        os.close(os.open(name, os.O_CREAT | os.O_WRONLY, dir_fd=at))
    os.close(at)


class TestOddFiles:
    """What programs and people leave in folders."""

    def test_a_name_in_capitals_is_a_notebook_too(self, tmp_path: Path) -> None:
        write(tmp_path, "ADA.IPYNB", "ben.ipynb")
        assert ["ADA.IPYNB", "ben"] == names(collect([tmp_path]))

    def test_what_a_mac_puts_beside_a_notebook_is_none(self, tmp_path: Path) -> None:
        write(tmp_path, "ada/hw.ipynb", "__MACOSX/ada/._hw.ipynb", "ada/._hw.ipynb")
        assert {"ada/hw": ""} == problems(collect([tmp_path]))

    def test_who_handed_in_such_a_one_alone_has_an_entry(self, tmp_path: Path) -> None:
        write(tmp_path, "ada/__MACOSX/hw.ipynb", "ben/._hw.ipynb")
        assert ["ada", "ben"] == names(collect([tmp_path]))

    def test_data_beside_a_notebook_is_nobodys(self, tmp_path: Path) -> None:
        write(tmp_path, "ada/hw.ipynb", "ada/data/x.csv", "ada/pictures/deep/x.png")
        assert {"hw": ""} == problems(collect([tmp_path / "ada"]))

    def test_but_a_folder_beside_those_of_others_is_somebodys(self, tmp_path: Path) -> None:
        write(tmp_path, "template.ipynb", "ada/hw.ipynb", "ben/notes.txt")
        assert ["ada/hw", "ben", "template"] == names(collect([tmp_path]))

    def test_a_path_that_becomes_too_long_with_its_last_name(self, tmp_path: Path) -> None:
        """The folder can be listed, and nothing in it be looked at."""
        write(tmp_path, "ada/hw.ipynb")
        room = os.pathconf(tmp_path, "PC_PATH_MAX") - 1 - len(f"{tmp_path}/ben")
        count, rest = divmod(room - 5, 201)
        make_deep(tmp_path, "ben", "x" * 200, count, folder="y" * (rest - 1), file="hw.ipynb")
        found = {entry.problem.english for entry in collect([tmp_path])}
        assert {"", "It cannot be read: File name too long."} == found


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
            ("hw.HTML/hw.ipynb", "hw.HTML_/hw-"),
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
            st.lists(
                st.text("ab.:/\\\n é\0-Jhtml", min_size=1, max_size=6), min_size=1, max_size=3
            ),
            min_size=1,
            max_size=6,
        )
    )
    def test_any_paths_get_names_below_the_folder_no_two_the_same(
        self, parts: list[list[str]]
    ) -> None:
        cleaned = ["/".join(part.replace("/", "_") for part in path) + ".ipynb" for path in parts]
        names = name_reports(cleaned)
        reports = [
            PurePosixPath(f"{name}.{kind}") for name in names.values() for kind in ("json", "html")
        ]
        assert 2 * len(set(cleaned)) == len({str(report).casefold() for report in reports})
        for report in reports:
            assert not report.is_absolute()
            assert all(not part.startswith(".") and "\0" not in part for part in report.parts)
        folders = {parent for report in reports for parent in report.parents}
        assert folders.isdisjoint(reports)
