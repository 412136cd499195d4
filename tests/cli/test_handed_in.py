"""What was handed in and is no plain file: refused wherever named, with a row for everybody."""

from __future__ import annotations

import hashlib
import os
import subprocess
import tempfile
from pathlib import Path

import msgspec
import pytest

from grader.report import decode_report, encode_report
from tests.cli.test_batch import COURSE, GRADER, RIGHT, rows, write
from tests.endtoend.warm import run_warm
from tests.users import as_user

SECONDS = 120


def grade(folder: Path, *words: str | Path, prefix: tuple[str, ...] = ()) -> tuple[int, str, str]:
    """Run a command of the grader in a folder: its exit code, output and messages."""
    arguments, columns = [*map(str, words), "--course", str(COURSE)], {"COLUMNS": "200"}
    if not prefix:
        done = run_warm(arguments, folder, columns, SECONDS)
    else:
        done = subprocess.run(
            [*prefix, str(GRADER), *arguments],
            capture_output=True,
            text=True,
            cwd=folder,
            timeout=SECONDS,
            env={**os.environ, **columns},
        )
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def tempting(tmp_path: Path) -> Path:
    """A class in which ada handed in a link to the solution, and ben a folder that is one."""
    write(tmp_path / "solution/hw.ipynb", *RIGHT)
    (tmp_path / "class/ada").mkdir(parents=True)
    (tmp_path / "class/ada/hw.ipynb").symlink_to(tmp_path / "solution/hw.ipynb")
    (tmp_path / "class/ben").symlink_to(tmp_path / "solution")
    return tmp_path


class TestRun:
    """`grader run` says what it is, and grades nothing."""

    @pytest.mark.parametrize("name", ["class/ada/hw.ipynb", "class/ben/hw.ipynb"])
    def test_a_link_is_not_followed(self, tempting: Path, name: str) -> None:
        code, output, messages = grade(tempting, "run", name)
        assert (2, "") == (code, output)
        assert "is a link." in messages
        assert "name its target" in messages

    def test_a_folder_is_named_with_what_to_do(self, tempting: Path) -> None:
        code, _, messages = grade(tempting / "solution", "run", ".")
        assert 2 == code
        assert "grader: solution is a folder, not a file." in messages
        assert "grader batch FOLDER" in messages

    def test_a_name_that_steers_a_terminal_is_made_harmless(self, tempting: Path) -> None:
        (tempting / "class/\x1b[2J.ipynb").symlink_to("/")
        _, _, messages = grade(tempting, "run", "class/\x1b[2J.ipynb")
        assert "\ufffd[2J.ipynb is a link" in messages
        assert "\x1b[2J" not in messages

    @pytest.mark.parametrize("name", ["report.json", "out/report.json"])
    def test_no_report_is_written_through_a_link_beside_it(self, tmp_path: Path, name: str) -> None:
        """`cd class/ada; grader run hw.ipynb --json report.json`, and ada had foreseen it."""
        write(tmp_path / "class/ada/hw.ipynb", *RIGHT)
        (tmp_path / "points").mkdir()
        (tmp_path / "points/report.json").write_text("ada: 3")
        at = tmp_path / "class/ada" / name
        if at.parent.name == "out":
            at.parent.symlink_to(tmp_path / "points")
        else:
            at.symlink_to(tmp_path / "points/report.json")
        code, _, messages = grade(tmp_path / "class/ada", "run", "hw.ipynb", "--json", name)
        assert 2 == code
        assert "is a link." in messages
        assert "ada: 3" == (tmp_path / "points/report.json").read_text()

    def test_a_pipe_is_not_waited_for(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "hw.ipynb")
        code, _, messages = grade(tmp_path, "run", "hw.ipynb")
        assert 2 == code
        assert "hw.ipynb is a named pipe, not a file." in messages

    def test_a_course_that_was_handed_in_is_not_used(self, tmp_path: Path) -> None:
        """Its oracle would be run by the referee, outside of any sandbox."""
        write(tmp_path / "class/ada/hw.ipynb", *RIGHT)
        folder = tmp_path / "class/ada/assignments/small"
        folder.mkdir(parents=True)
        (folder / "assignment.toml").write_text("hostile")
        done = subprocess.run(
            [GRADER, "run", tmp_path / "class/ada/hw.ipynb"],
            capture_output=True,
            text=True,
            cwd="/",
            timeout=SECONDS,
        )
        assert 2 == done.returncode
        assert "from-torch" in done.stderr  # the assignments that come with the grader


class TestBatch:
    """`grader batch` has a row for everybody."""

    @pytest.mark.parametrize(
        "names",
        [
            ("class",),
            ("class/ada", "class/ben"),
            ("class/ada/hw.ipynb", "class/ben/hw.ipynb"),
        ],
    )
    def test_links_are_not_followed_however_named(
        self, tempting: Path, names: tuple[str, ...]
    ) -> None:
        code, output, _ = grade(tempting, "batch", *names, "--output", "reports")
        assert 2 == code
        found = rows(tempting)
        assert 2 == len(found)
        assert not any(row.graded for row in found.values())
        assert all("is a link." in row.noticed.english for row in found.values())
        assert "2 submissions: 0 graded; 2 could not be graded." in output

    def test_an_absolute_path_from_elsewhere_is_no_way_around(self, tempting: Path) -> None:
        files = sorted(tempting.glob("class/*/hw.ipynb"))
        code, _, _ = grade(Path("/"), "batch", *files, "--output", tempting / "reports")
        assert 2 == code
        assert not any(row.graded for row in rows(tempting).values())

    def test_a_report_that_was_handed_in_is_no_grade(self, tmp_path: Path) -> None:
        """Who knows the course and the grader's version can write one of full marks at home."""
        write(tmp_path / "home/class/ada/hw.ipynb", *RIGHT)
        write(tmp_path / "class/ada/hw.ipynb", "1 / 0")
        grade(tmp_path / "home", "batch", "class", "--output", "reports", "--seed", "1")
        report = decode_report((tmp_path / "home/reports/ada/hw.json").read_bytes())
        digest = hashlib.sha256((tmp_path / "class/ada/hw.ipynb").read_bytes()).hexdigest()
        about = msgspec.structs.replace(report.submission, sha256=digest)
        forged = encode_report(msgspec.structs.replace(report, submission=about))
        (tmp_path / "class/ada/hw.json").write_bytes(forged)
        for output in ("class", "class/../class"):
            code, _, messages = grade(tmp_path, "batch", "class", "--output", output)
            assert 2 == code
            assert "mixed with submissions" in messages
        assert forged == (tmp_path / "class/ada/hw.json").read_bytes()

    def test_odd_names_end_nothing(self, tmp_path: Path) -> None:
        """Neither one that is no UTF-8 nor a folder that is called like somebody's page."""
        write(tmp_path / "class/ada.ipynb", "1 / 0")
        write(tmp_path / "class/ada.html/hw.ipynb", "1 / 0")
        write(tmp_path / "class" / os.fsdecode(b"ben\xff") / "hw.ipynb", "1 / 0")
        (tmp_path / "class" / os.fsdecode(b"cem\xff\x1b[2J")).mkdir()
        (tmp_path / "class" / os.fsdecode(b"dan\xff")).symlink_to("/")
        code, output, messages = grade(
            tmp_path, "batch", "class", "--output", "reports", "--html", "--assignment", "small"
        )
        assert 2 == code
        assert "Internal error" not in messages
        assert "\x1b[2J" not in output + messages
        found = rows(tmp_path)
        assert 4 <= len(found)
        for row in found.values():
            assert (tmp_path / "reports" / row.report).with_suffix(".html").is_file()

    def test_who_handed_in_nothing_readable_has_a_row(self) -> None:
        """As a user: no folder is closed to root, and those of pytest are closed to users."""
        with tempfile.TemporaryDirectory(prefix="u-", dir="/tmp") as opened:
            folder = Path(opened)
            folder.chmod(0o777)
            write(folder / "class/ada/hw.ipynb", "1 / 0")
            for name in ("ben", "cem", "dan"):
                (folder / "class" / name).mkdir()
            (folder / "class/cem").chmod(0)
            write(folder / "class/dan/hw.ipynb", "1 / 0")
            (folder / "class/dan").chmod(0o444)  # what is in it can be listed, and nothing more
            code, _, messages = grade(
                folder, "batch", "class", "--output", "reports", prefix=tuple(as_user([]))
            )
            assert 2 == code, messages
            noticed = {name: row.noticed.english for name, row in rows(folder).items()}
        assert "cem: Permission denied" in noticed["cem"]
        assert "Nothing to grade in ben" in noticed["ben"]
        assert "Permission denied" in noticed["dan/hw"]
        assert "ZeroDivisionError" in noticed["ada/hw"]
