"""Files that commands write: whole or as they were, devices written to, nothing lost.

Folders for temporary files outlive nobody for long.
"""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.errors import MachineError, UsageError
from grader.files import (
    REPORT,
    ROOM,
    OwnFolder,
    rescue,
    sweep,
    try_place,
    unreadable,
    unwritable,
    write_or_rescue,
    write_whole,
)
from tests.missing import no_mount

FULL = Path("/dev/full")


def test_a_name_is_checked_only_where_it_may_be_wrong() -> None:
    def hint(number: int) -> str:
        return unreadable("hw.ipynb", OSError(number, os.strerror(number))).hint.english

    assert "name" in hint(errno.ENOENT)
    assert "Check its permissions." == hint(errno.EACCES) == hint(errno.EPERM)


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A file system of one megabyte, full but for a few bytes."""
    place = tmp_path / "small"
    place.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", place], capture_output=True, text=True
    )
    if done.returncode:
        pytest.skip(no_mount(done.stderr))
    (place / "filling").write_bytes(bytes(2**20 - 8192))
    yield place
    subprocess.run(["umount", place], check=True)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


class TestTrying:
    """Before the work, not after it."""

    def test_a_place_that_can_be_written_stays_as_it_is(self, tmp_path: Path) -> None:
        (tmp_path / "a.json").write_text("before")
        try_place(tmp_path / "a.json")
        try_place(tmp_path / "b.json")
        try_place(None)
        assert ["a.json"] == [path.name for path in tmp_path.iterdir()]
        assert "before" == (tmp_path / "a.json").read_text()

    def test_a_folder_and_one_that_there_is_not_are_refused(self, tmp_path: Path) -> None:
        for path in (tmp_path, tmp_path / "no" / "a.json"):
            with pytest.raises(UsageError, match="Cannot write the report to"):
                try_place(path)

    def test_a_file_system_that_can_only_be_read_is_refused(self) -> None:
        with pytest.raises(UsageError, match="Cannot write"):
            try_place(Path("/proc/a.json"))

    def test_one_without_room_is_refused(self, small: Path) -> None:
        with pytest.raises(UsageError, match="No space left") as caught:
            try_place(small / "a.json")
        assert "Free some space there" in caught.value.hint.english
        assert ["filling"] == names(small)

    def test_a_pipe_is_not_waited_for_and_a_device_stays(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe")
        try_place(tmp_path / "pipe")
        try_place(Path("/dev/null"))
        assert Path("/dev/null").is_char_device()


class TestWriting:
    """By renaming, but for what is no file."""

    def test_a_file_is_replaced_with_the_modes_that_others_get(self, tmp_path: Path) -> None:
        (tmp_path / "a.json").write_text("before")
        write_whole(tmp_path / "a.json", b"after")
        write_whole(tmp_path / ("b" * 250), b"after")
        assert "after" == (tmp_path / "a.json").read_text()
        (tmp_path / "c").touch()
        assert 1 == len({path.stat().st_mode for path in tmp_path.iterdir()})

    def test_who_may_read_a_file_may_read_what_replaces_it(self, tmp_path: Path) -> None:
        """A report says what is hidden."""
        path = tmp_path / "a.json"
        path.touch(0o600)
        path.chmod(0o640)
        write_whole(path, b"after")
        assert 0o640 == path.stat().st_mode & 0o777
        write_whole(path, b"secret", mode=0o600)
        assert 0o600 == path.stat().st_mode & 0o777
        if os.geteuid() == 0:
            os.chown(path, 1234, 1235)
            write_whole(path, b"after")
            assert (1234, 1235) == (path.stat().st_uid, path.stat().st_gid)

    def test_what_a_link_leads_to_is_replaced(self, tmp_path: Path) -> None:
        (tmp_path / "a.json").symlink_to(tmp_path / "b.json")
        write_whole(tmp_path / "a.json", b"after")
        assert (tmp_path / "a.json").is_symlink()
        assert "after" == (tmp_path / "b.json").read_text()

    def test_a_device_is_written_to(self, tmp_path: Path) -> None:
        write_whole(Path("/dev/null"), b"gone")
        (tmp_path / "link").symlink_to("/dev/null")
        write_whole(tmp_path / "link", b"gone")
        assert Path("/dev/null").is_char_device()
        with pytest.raises(OSError, match="No space left"):
            write_whole(FULL, b"too much")
        assert FULL.is_char_device()

    def test_a_pipe_is_written_to(self, tmp_path: Path) -> None:
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        content = os.urandom(300_000)
        writer = threading.Thread(target=write_whole, args=(pipe, content))
        writer.start()
        assert content == pipe.read_bytes()
        writer.join()
        assert pipe.is_fifo()

    def test_nothing_is_left_of_what_did_not_fit(self, small: Path) -> None:
        (small / "a.json").write_text("before")
        with pytest.raises(OSError, match="No space left"):
            write_whole(small / "a.json", bytes(ROOM))
        assert ["a.json", "filling"] == names(small)
        assert "before" == (small / "a.json").read_text()


class TestRescue:
    """What cannot be written is kept elsewhere."""

    def test_it_is_among_the_temporary_files(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
        with pytest.raises(UsageError, match="Cannot write the report to /dev/full") as caught:
            write_or_rescue(FULL, b"a report")
        (kept,) = tmp_path.iterdir()
        assert f"It is kept in {kept} instead" in caught.value.hint.english
        assert b"a report" == kept.read_bytes()

    def test_or_printed(
        self, small: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr(tempfile, "tempdir", str(small))
        assert "It is printed above" in rescue(b"a report" * 2**17, ".json").english
        assert "a report" * 2**17 == capsys.readouterr().err.strip()
        assert ["filling"] == names(small)


KILLED = """
import os, signal, sys
from grader.files import OwnFolder
folder = OwnFolder(place=sys.argv[1])
(folder.path / "kernel-1").touch()
os.kill(os.getpid(), signal.SIGKILL)
"""

UNLOCKED = """
import os, resource, sys
from grader.files import OwnFolder
files = len(os.listdir("/proc/self/fd")) - 1
resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
try:
    OwnFolder(place=sys.argv[1])
except OSError as error:
    print(error.strerror)
"""

INTERRUPTED = """
import sys
from grader.files import OwnFolder

def interrupt(frame, event, argument):
    if event == "return" and frame.f_code is OwnFolder.__init__.__code__:
        raise KeyboardInterrupt
    return interrupt

sys.settrace(interrupt)
try:
    OwnFolder(place=sys.argv[1])
except KeyboardInterrupt:
    sys.settrace(None)
    print("interrupted")
"""

IMPATIENT = """
import os, signal, sys, threading, time
from pathlib import Path
from grader.files import remove_tree

def interrupt():
    while not gone:
        os.killpg(0, signal.SIGINT)
        time.sleep(0.001)

folder, gone = Path(sys.argv[1]), []
signal.signal(signal.SIGINT, lambda *_: None)
threading.Thread(target=interrupt, daemon=True).start()
remove_tree(folder)
gone.append(True)
print(folder.exists())
"""


@pytest.fixture
def left(tmp_path: Path) -> Path:
    """The folder of a process that was killed."""
    subprocess.run([sys.executable, "-c", KILLED, tmp_path])
    (folder,) = tmp_path.iterdir()
    return folder


def test_what_a_killed_process_left_is_removed(left: Path) -> None:
    assert (left / "kernel-1").exists()
    sweep([str(left.parent)])
    assert not left.exists()


def test_what_is_in_use_stays(left: Path) -> None:
    own = OwnFolder(place=str(left.parent))
    sweep([str(left.parent)])
    assert [own.path] == list(left.parent.iterdir())
    own.remove()
    own.remove()
    assert [] == list(left.parent.iterdir())


def test_what_could_not_be_locked_is_removed_at_once(tmp_path: Path) -> None:
    """Nobody would do so later: what has no lock may be one that is being made."""
    done = subprocess.run(
        [sys.executable, "-c", UNLOCKED, tmp_path], capture_output=True, text=True, check=True
    )
    assert "Too many open files\n" == done.stdout
    assert [] == list(tmp_path.iterdir())


def test_an_interruption_just_after_its_making_leaves_nothing(tmp_path: Path) -> None:
    """It came between the making and the `try` after it, on a machine with much to do."""
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, tmp_path], capture_output=True, text=True, check=True
    )
    assert ("interrupted\n", "") == (done.stdout, done.stderr)
    assert [] == list(tmp_path.iterdir())


def test_a_forked_process_leaves_its_maker_s_folders(tmp_path: Path) -> None:
    own = OwnFolder(place=str(tmp_path))
    child = os.fork()
    if child == 0:
        del own
        os._exit(0)
    os.waitpid(child, 0)
    assert [own.path] == list(tmp_path.iterdir())
    own.remove()


def test_what_is_not_ours_or_looks_like_it_stays(left: Path, tmp_path: Path) -> None:
    (tmp_path / "grader-plain").mkdir()
    (tmp_path / "grader-linked").symlink_to(left)
    (tmp_path / "other-folder").mkdir()
    (tmp_path / "other-folder/.lock").touch()
    (tmp_path / "grader-pipe").mkdir()
    os.mkfifo(tmp_path / "grader-pipe/lock")
    before = set(tmp_path.iterdir())
    sweep([str(tmp_path)])
    assert before - {left} == set(tmp_path.iterdir())


def test_a_place_that_cannot_be_read_is_no_obstacle(tmp_path: Path) -> None:
    sweep([str(tmp_path / "nowhere")])


def test_more_interrupts_do_not_keep_a_folder_from_being_removed(tmp_path: Path) -> None:
    """Ctrl-C reaches all processes of the terminal's group; `rm` was ended by it once."""
    folder = tmp_path / "left"
    folder.mkdir()
    for number in range(500):
        (folder / str(number)).touch()
    command = [sys.executable, "-c", IMPATIENT, folder]
    done = subprocess.run(command, capture_output=True, text=True, start_new_session=True)
    assert "False\n" == done.stdout, done.stderr


def test_a_machine_without_a_temporary_folder_is_told_what_to_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where all of them are read-only, every command failed by itself at its start."""

    def gettempdir() -> str:
        raise FileNotFoundError(errno.ENOENT, "No usable temporary directory found")

    monkeypatch.setattr(tempfile, "gettempdir", gettempdir)
    with pytest.raises(MachineError, match="No folder for temporary files") as caught:
        sweep()
    assert "TMPDIR" in caught.value.hint.english


def test_a_file_in_place_of_a_folder_is_called_so() -> None:
    """Of `-o FILE` mkdir says "File exists", which sounds as if a folder would not do either."""
    refusal = unwritable(Path("out"), FileExistsError(errno.EEXIST, "File exists"), REPORT)
    assert "Cannot write the report to out: Not a directory." == refusal.message.english
