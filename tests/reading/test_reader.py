"""Reading in a process of its own: what comes back, what it may take, and when it stands still."""

from __future__ import annotations

import json
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from grader.errors import GraderError, UsageError
from grader.machine.quiet import Quiet
from grader.reading.messages import Overwhelmed, ReaderBounds, Unreadable
from grader.reading.reader import ReadingError, SubmissionReader, _piece
from grader.reading.submission import read_submission
from tests.properties import hostile

SECONDS = 30.0


@pytest.fixture(scope="module")
def reader() -> Iterator[SubmissionReader]:
    with SubmissionReader() as made:
        yield made


@pytest.fixture(scope="module")
def patient() -> Iterator[SubmissionReader]:
    """A reader with more time: of a busy core's two threads each takes up to twice the seconds."""
    with SubmissionReader(bounds=ReaderBounds(seconds=3 * ReaderBounds().seconds)) as made:
        yield made


def write(path: Path, *sources: str, **metadata: object) -> Path:
    cells = [{"cell_type": "code", "source": source} for source in sources]
    path.write_text(json.dumps({"cells": cells, "metadata": metadata}, indent=1))
    return path


def wait_until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def child_of(reader: SubmissionReader) -> int:
    """Return the process that reads, as soon as there is one."""
    children = Path(f"/proc/{reader.pid}/task/{reader.pid}/children")
    wait_until(lambda: bool(children.read_text().split()))
    return int(children.read_text().split()[0])


def state_of(process: int) -> str:
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]


def settled(process: int) -> bool:
    """Say whether a process has given everything up, and waits for the file's first byte."""
    status = Path(f"/proc/{process}/status").read_text()
    limits = Path(f"/proc/{process}/limits").read_text().splitlines()
    (size,) = (line.split()[3:5] for line in limits if line.startswith("Max file size"))
    # it also sleeps before that, until it may go on
    return "NoNewPrivs:\t1" in status and size == ["0", "0"] and state_of(process) == "S"


@contextmanager
def endless_file(reader: SubmissionReader) -> Iterator[list[object]]:
    """Have a file read whose first byte does not come within the body.

    Yields what comes back, an error if it is one: where the reader is closed before it has told
    which process reads, who asks is told that nothing can be read.
    """
    answers: list[object] = []
    ours, theirs = os.pipe()

    def ask() -> None:
        try:
            answers.append(reader.ask(ours, ".ipynb"))
        except GraderError as error:
            answers.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield answers
    finally:
        os.close(theirs)
        thread.join(SECONDS)
        os.close(ours)


class TestAnswers:
    def test_a_notebook_is_what_it_is_when_it_is_read_here(
        self, tmp_path: Path, reader: SubmissionReader
    ) -> None:
        path = write(tmp_path / "hw.ipynb", "a = 1", "b = 2", grader={"assignment": "small"})
        here, there = read_submission(path), reader.read(path)
        assert (here.name, here.sha256) == (there.name, there.sha256)
        assert here.notebook == there.notebook
        assert "small" == there.declared_assignment

    def test_a_script_has_its_lines(self, tmp_path: Path, reader: SubmissionReader) -> None:
        path = tmp_path / "hw.py"
        path.write_text("import tvm\n\nx = 1\n")
        assert (1, 3) == reader.read(path).starts

    def test_its_spelling_is_known(self, tmp_path: Path, reader: SubmissionReader) -> None:
        old = reader.read(write(tmp_path / "old.ipynb", "x = 1", hostile.OLD)).respelling
        new = reader.read(write(tmp_path / "new.ipynb", "x = 1")).respelling
        assert old is not None
        assert new is not None
        assert ("current", None) == (new.dialect, new.first)
        assert [1] == [each.cell for each in old.cells]
        assert old.first is not None
        assert (1, 2) == (old.first.cell, old.first.line)

    def test_a_damaged_file_comes_back_with_its_problem(
        self, tmp_path: Path, reader: SubmissionReader
    ) -> None:
        (tmp_path / "bad.ipynb").write_bytes(b"{")
        assert read_submission(tmp_path / "bad.ipynb") == reader.read(tmp_path / "bad.ipynb")

    def test_a_missing_file_is_a_usage_error(
        self, tmp_path: Path, reader: SubmissionReader
    ) -> None:
        with pytest.raises(UsageError, match=r"nowhere\.ipynb"):
            reader.read(tmp_path / "nowhere.ipynb")

    def test_a_name_that_is_none_is_passed_over_and_told(
        self, tmp_path: Path, reader: SubmissionReader
    ) -> None:
        read = reader.read(write(tmp_path / "hw.ipynb", "x", grader={"assignment": "s" * 101}))
        assert read.declared_assignment is None
        assert "an assignment with more than 100 characters" in read.notes[0].english

    def test_blank_cells_are_not_counted(self, tmp_path: Path, reader: SubmissionReader) -> None:
        """They are not run: code cell 2 is the same one in every sentence of a report."""
        both = "<<<<<<< HEAD\ny = 1\n=======\ny = 2\n>>>>>>> fix"
        read = reader.read(write(tmp_path / "hw.ipynb", "x = 1", " ", both))
        assert ("x = 1", both) == read.sources
        assert read.notes[0].english.startswith("Code cell 2 of the notebook has an unresolved Git")

    def test_many_threads_may_ask(self, tmp_path: Path, reader: SubmissionReader) -> None:
        paths = [write(tmp_path / f"{number}.ipynb", f"x = {number}") for number in range(8)]
        found: dict[Path, tuple[str, ...]] = {}
        threads = [
            threading.Thread(
                target=lambda path=path: found.update({path: reader.read(path).sources})
            )
            for path in paths
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(SECONDS)
        assert {path: (f"x = {number}",) for number, path in enumerate(paths)} == found

    def test_a_fault_of_the_process_itself_is_raised(
        self, tmp_path: Path, reader: SubmissionReader
    ) -> None:
        folder = os.open(tmp_path, os.O_RDONLY)
        with pytest.raises(ReadingError, match="IsADirectoryError"):
            reader.ask(folder, ".ipynb")
        os.close(folder)


class TestOddNames:
    """The end of a name says how a file is read, and students choose names."""

    def test_names_need_not_be_ascii(self, tmp_path: Path, reader: SubmissionReader) -> None:
        (tmp_path / "a.py").write_text("# %%\n모델 = '\\N{BULLET}'\n", "utf-8")
        assert reader.read(tmp_path / "a.py").sources

    def test_capitals_do_not_matter(self, tmp_path: Path, reader: SubmissionReader) -> None:
        path = tmp_path / "HW.PY"
        path.write_text("x = 1\n")
        assert ("x = 1\n",) == reader.read(path).sources

    @pytest.mark.parametrize("name", [b"hw.\xff", b"hw." + b"x" * 200])
    def test_an_end_that_nobody_knows_is_a_notebooks(
        self, tmp_path: Path, reader: SubmissionReader, name: bytes
    ) -> None:
        path = tmp_path / os.fsdecode(name)
        write(path, "x = 1")
        assert ("x = 1",) == reader.read(path).sources


class TestBounds:
    def test_a_file_that_looks_like_itself_at_every_place_is_no_more_than_others(
        self, tmp_path: Path, reader: SubmissionReader
    ) -> None:
        """Cells in cells in cells: each could be the one whose line is looked for."""
        padding, levels = "1," * 100_000, 200
        path = tmp_path / "hw.ipynb"
        path.write_text('{"cells":[' + (padding + '{"cells":[') * levels + "]}" * (levels + 1))
        begin = time.monotonic()
        assert "" != reader.read(path).problem
        assert time.monotonic() - begin < SECONDS

    def test_a_file_that_takes_more_memory_has_a_problem_and_a_digest(self, tmp_path: Path) -> None:
        path = tmp_path / "hw.ipynb"
        path.write_text(hostile.FORMS["lists and a number that is none"](3 * 10**6))
        with SubmissionReader(bounds=ReaderBounds(memory=20 * 2**20)) as reader:
            read = reader.read(path)
        assert (
            "too complicated to be read: that takes more than 5 seconds or 20 MB"
            in read.problem.english
        )
        assert "submit it again" in read.hint.english
        assert read_submission(path).sha256 == read.sha256

    def test_many_escapes_beside_what_is_no_json_are_no_more_than_others(
        self, tmp_path: Path, patient: SubmissionReader
    ) -> None:
        """Of each an object was made: 300 MB for a file of 6 MB."""
        path = write(tmp_path / "hw.ipynb", "x = 1", log=[float("nan"), "\n" * 3 * 10**6])
        assert ("x = 1",) == patient.read(path).sources

    def test_the_process_has_limits_and_no_powers(self, reader: SubmissionReader) -> None:
        with endless_file(reader):
            child = child_of(reader)
            wait_until(lambda: settled(child))
            limits = Path(f"/proc/{child}/limits").read_text()
            status = Path(f"/proc/{child}/status").read_text()
            descriptors = len(list(Path(f"/proc/{child}/fd").iterdir()))
        rows = {line[:25].strip(): line[25:].split()[:2] for line in limits.splitlines()}
        assert ["5", "5"] == rows["Max cpu time"]
        assert ["0", "0"] == rows["Max file size"]
        assert int(rows["Max address space"][0]) < 600 * 2**20
        assert "CapEff:\t0000000000000000" in status
        assert "CapBnd:\t0000000000000000" in status or os.geteuid() != 0
        assert "NoNewPrivs:\t1" in status
        assert (
            descriptors <= 6
        )  # the standard ones, the file, the answer's socket and its own pidfd

    def test_an_answer_that_does_not_come_is_not_waited_for(self) -> None:
        with SubmissionReader(patience=0.2) as reader, endless_file(reader) as answers:
            wait_until(lambda: bool(answers))
            assert [Overwhelmed()] == answers

    def test_it_has_imported_nothing_of_the_referee(self) -> None:
        code = "import sys, grader.reading.worker; print(*sys.modules)"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        loaded = set(done.stdout.split())
        assert "libcst" in loaded
        assert not {"tvm", "torch", "numpy", "nbformat", "grader.evidence"} & loaded

    def test_two_thousand_cells_in_an_earlier_spelling_stay_within_them(
        self, tmp_path: Path, patient: SubmissionReader
    ) -> None:
        respelling = patient.read(write(tmp_path / "hw.ipynb", *[hostile.OLD] * 2000)).respelling
        assert respelling is not None
        assert "current" != respelling.dialect
        assert 500 < len(respelling.cells)

    @pytest.mark.parametrize("name", ["line ends", "parentheses", "empty parentheses"])
    def test_a_million_of_them_stays_within_them(
        self, name: str, tmp_path: Path, patient: SubmissionReader
    ) -> None:
        for count in (1, 16):
            (tmp_path / "hw.ipynb").write_bytes(
                hostile.in_cells(lambda size: "x = 1\n" + hostile.CODE[name](size), 10**6, count)
            )
            assert count == len(patient.read(tmp_path / "hw.ipynb").sources)


class TestQuiet:
    def test_who_measures_waits_for_no_file_and_is_not_disturbed(self) -> None:
        quiet = Quiet()
        with SubmissionReader(quiet) as reader, endless_file(reader):
            child = child_of(reader)
            wait_until(lambda: settled(child))
            with quiet.exclusive():
                wait_until(lambda: state_of(child) == "T")
            wait_until(lambda: state_of(child) != "T")

    def test_a_file_that_comes_while_somebody_measures_stands_still(self) -> None:
        quiet = Quiet()
        reader = SubmissionReader(quiet, patience=0.2)
        with quiet.exclusive(), endless_file(reader) as answers:
            child = child_of(reader)
            wait_until(lambda: state_of(child) == "T")
            time.sleep(0.6)  # which is no time that it had
            assert [] == answers
            reader.close()


def test_the_end_of_a_process_that_has_not_read_all_is_an_end() -> None:
    """Linux resets the connection: nothing else tells that it is closed."""
    ours, theirs = socket.socketpair()
    with ours:
        ours.sendall(b"g")
        theirs.close()
        assert b"" == _piece(ours)


class TestEnd:
    def test_what_reads_ends_with_the_reader(self) -> None:
        """Also where it ends before the child has asked to be told of that: one in a few did."""
        for _ in range(10):
            reader = SubmissionReader()
            with endless_file(reader) as answers:
                gone = Path(f"/proc/{child_of(reader)}")
                reader.close()
                wait_until(lambda answers=answers: bool(answers))
                wait_until(lambda gone=gone: not gone.exists())
        with pytest.raises(GraderError, match="Nothing can be read"):
            reader.ask(0, ".ipynb")

    def test_when_it_was_killed_another_one_reads(self, tmp_path: Path) -> None:
        """By the kernel, for want of memory: the rest of the class is read all the same."""
        path = write(tmp_path / "hw.ipynb", "x = 1")
        with SubmissionReader() as reader:
            for _ in range(2):
                os.kill(reader.pid, signal.SIGKILL)
                assert ("x = 1",) == reader.read(path).sources

    def test_a_file_that_was_being_read_then_is_not_blamed(self) -> None:
        """A hole in a parser would let one file end the process that all others end with."""
        with SubmissionReader() as reader, endless_file(reader) as answers:
            before = reader.pid
            wait_until(lambda: settled(child_of(reader)))
            os.kill(before, signal.SIGKILL)
            wait_until(lambda: reader.pid != before)
            child_of(reader)
            assert [] == answers
            reader.close()

    def test_a_damaged_file_is_no_reason_to_end(self, reader: SubmissionReader) -> None:
        for _ in range(3):
            with Path(os.devnull).open("rb") as empty:
                assert isinstance(reader.ask(empty.fileno(), ".ipynb"), Unreadable)


def test_descriptors_of_this_user_that_are_under_way_are_no_reader_s_lack(tmp_path: Path) -> None:
    """The kernel counts them by user, and a program in a box may be the same one."""
    path = write(tmp_path / "a.ipynb", "x = 1")
    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    with ExitStack() as stack:
        reader = stack.enter_context(SubmissionReader())
        if os.geteuid() != 0:  # as much as a box may send
            most = 1277
        for _ in range(most // 100 + 1):
            one, other = map(stack.enter_context, socket.socketpair())
            socket.send_fds(one, [b"x"], [other.fileno()] * 100)
        assert reader.read(path).notebook is not None
