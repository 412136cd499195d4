"""The turn to time on a machine: real processes, real files, and files that are not as they should.

The lock's clock and patience are passed in; whatever waits in these tests waits for a process.
"""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from grader.language import NOTHING
from grader.machine.quiet import SHARED_PLACE, LockError, TimingLock
from tests.missing import needs_root, needs_user
from tests.users import USER, as_user

SECONDS = 60.0

HOLDER = """
import sys
from pathlib import Path
from grader.machine.quiet import TimingLock
lock = TimingLock(Path(sys.argv[1]), patience=60)
with lock.turn(lambda: print("waits", flush=True)) as turn:
    print(turn.is_alone, flush=True)
    sys.stdin.read()
print("left", flush=True)
"""


@contextmanager
def holder(path: Path) -> Iterator[subprocess.Popen[str]]:
    """Have another process that waits for the turn and keeps it to the end of its input."""
    with running([sys.executable, "-c", HOLDER, str(path)]) as process:
        yield process


@contextmanager
def running(command: list[str]) -> Iterator[subprocess.Popen[str]]:
    """Run a command that can be talked to, and end it."""
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def says(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "lock"


class Clock:
    """A clock that goes on by some seconds each time it is looked at."""

    def __init__(self, step: float) -> None:
        self.now, self._step = 0.0, step

    def __call__(self) -> float:
        self.now += self._step
        return self.now


def never() -> None:
    raise AssertionError("nobody had to wait")


class TestTurn:
    def test_who_is_alone_has_it_at_once(self, path: Path) -> None:
        with TimingLock(path).turn(never) as turn:
            assert (True, NOTHING) == (turn.is_alone, turn.note)

    def test_it_can_be_had_again(self, path: Path) -> None:
        lock = TimingLock(path)
        for _ in range(2):
            with lock.turn(never) as turn:
                assert turn.is_alone

    def test_it_is_given_back_by_an_error(self, path: Path) -> None:
        lock = TimingLock(path)
        with pytest.raises(KeyError), lock.turn():
            raise KeyError
        assert not lock.is_taken()

    def test_another_process_waits_until_it_is_free(self, path: Path) -> None:
        with ExitStack() as processes:
            with TimingLock(path).turn(never) as turn:
                assert turn.is_alone
                process = processes.enter_context(holder(path))
                assert "waits" == says(process)
            assert "True" == says(process)

    def test_waiting_is_told_once_and_ends_with_the_holder(self, path: Path) -> None:
        told: list[str] = []
        with holder(path) as process:
            assert "True" == says(process)

            def tell() -> None:
                told.append("waiting")
                assert process.stdin is not None
                process.stdin.close()

            with TimingLock(path, SECONDS).turn(tell) as turn:
                assert turn.is_alone
                assert ["waiting"] == told
                assert "left" == says(process)

    def test_a_holder_that_is_killed_holds_nothing(self, path: Path) -> None:
        with holder(path) as process:
            assert "True" == says(process)
            process.send_signal(signal.SIGKILL)
            process.wait(SECONDS)
            with TimingLock(path).turn(never) as turn:
                assert turn.is_alone

    def test_what_a_holder_starts_does_not_keep_it(self, path: Path) -> None:
        with TimingLock(path).turn():
            left = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
        with left:
            assert not TimingLock(path).is_taken()

    def test_many_processes_have_it_one_after_the_other(self, path: Path) -> None:
        code = """
import os, sys
from pathlib import Path
from grader.machine.quiet import TimingLock
mark = Path(sys.argv[1] + ".mark")
for _ in range(3):
    with TimingLock(Path(sys.argv[1]), 60).turn() as turn:
        os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
        os.sched_yield()
        mark.unlink()
        assert turn.is_alone
"""
        command = [sys.executable, "-c", code, str(path)]
        started = [subprocess.Popen(command) for _ in range(4)]
        assert [0] * 4 == [process.wait(SECONDS) for process in started]


ENDLESS = """
import sys
from pathlib import Path
from grader.machine.quiet import TimingLock
lock = TimingLock(Path(sys.argv[1]), patience=60)
for _ in range(2):
    with lock.turn(lambda: print("waits", flush=True)):
        print("in", flush=True)
        sys.stdin.readline()
"""


def test_one_that_wants_turn_after_turn_lets_another_in_between(path: Path) -> None:
    with (
        running([sys.executable, "-c", ENDLESS, str(path)]) as greedy,
        ExitStack() as later,
    ):
        assert "in" == says(greedy)
        other = later.enter_context(holder(path))
        assert "waits" == says(other)
        assert greedy.stdin is not None
        greedy.stdin.write("\n")
        greedy.stdin.flush()
        assert "waits" == says(greedy)
        assert "True" == says(other)


class TestPatience:
    def test_nobody_waits_for_ever(self, path: Path) -> None:
        with holder(path) as process:
            assert "True" == says(process)
            with TimingLock(path, 600.0, Clock(step=400.0)).turn() as turn:
                assert not turn.is_alone
                assert "more than 600 seconds" in turn.note.english

    def test_after_waiting_in_vain_it_waits_less(self, path: Path) -> None:
        lock = TimingLock(path, 600.0, Clock(step=400.0))
        with holder(path) as process:
            assert "True" == says(process)
            with lock.turn():
                pass
            with lock.turn() as turn:
                assert "more than 10 seconds" in turn.note.english

    def test_and_as_long_as_before_once_it_had_its_turn(self, path: Path) -> None:
        lock = TimingLock(path, 600.0, Clock(step=400.0))
        for _ in range(2):
            with holder(path) as process:
                assert "True" == says(process)
                with lock.turn() as turn:
                    assert "more than 600 seconds" in turn.note.english
            with lock.turn(never) as turn:
                assert turn.is_alone

    def test_waiting_ends_when_the_work_is_interrupted(self, path: Path) -> None:
        lock = TimingLock(path, SECONDS)
        waits = threading.Event()
        turns: list[bool] = []

        def work() -> None:
            with lock.turn(waits.set) as turn:
                turns.append(turn.is_alone)

        with holder(path) as process:
            assert "True" == says(process)
            thread = threading.Thread(target=work)
            thread.start()
            assert waits.wait(SECONDS)
            lock.hurry()
            thread.join(SECONDS)
            assert [False] == turns
            assert process.poll() is None


class TestAtOnce:
    def test_it_is_had_where_nobody_has_it(self, path: Path) -> None:
        with TimingLock(path).turn_at_once() as turn:
            assert turn is not None
            assert turn.is_alone
            assert TimingLock(path).is_taken()
        assert not TimingLock(path).is_taken()

    def test_it_is_not_had_where_somebody_has_it(self, path: Path) -> None:
        with TimingLock(path).turn(), TimingLock(path).turn_at_once() as turn:
            assert turn is None

    def test_it_is_left_to_whoever_waits_for_it(self, path: Path) -> None:
        queue = TimingLock(path.with_name("lock.queue"))
        with queue.turn(), TimingLock(path).turn_at_once() as turn:
            assert turn is None

    def test_a_bad_place_is_told(self, path: Path) -> None:
        path.mkdir()
        with TimingLock(path).turn_at_once() as turn:
            assert turn is not None
            assert "not a regular file" in turn.note.english


class TestOneProcess:
    def test_who_joins_has_the_turn_of_another_grading_and_keeps_it(self, path: Path) -> None:
        lock = TimingLock(path)
        first, second = ExitStack(), ExitStack()
        with first, second:
            first.enter_context(lock.turn())
            assert second.enter_context(lock.joining().turn(never)).is_alone
            first.close()
            assert lock.is_taken()
        assert not lock.is_taken()

    def test_who_joins_waits_for_another_process_as_all_do(self, path: Path) -> None:
        with TimingLock(path).turn(), TimingLock(path, patience=0.1).joining().turn() as turn:
            assert not turn.is_alone

    def test_one_may_be_hurried_without_the_others(self, path: Path) -> None:
        lock = TimingLock(path, SECONDS)
        one, other = lock.for_one(), lock.for_one()
        one.hurry()
        with TimingLock(path).turn():
            with one.turn() as turn:
                assert not turn.is_alone
            waits = threading.Event()
            thread = threading.Thread(target=lambda: other.turn(waits.set).__enter__())
            thread.start()
            assert waits.wait(SECONDS)
            assert thread.is_alive()
            lock.hurry()
            thread.join(SECONDS)
            assert not thread.is_alive()

    def test_the_patience_of_one_begins_when_no_other_waits_before_it(self, path: Path) -> None:
        lock = TimingLock(path, patience=0.4)
        with ExitStack() as machine:
            machine.enter_context(TimingLock(path).turn())
            waits, first_waits = threading.Event(), threading.Event()
            first = threading.Thread(target=lambda: lock.turn(first_waits.set).__enter__())
            first.start()
            assert first_waits.wait(SECONDS)
            began = time.monotonic()
            with lock.turn(waits.set) as turn:
                assert not turn.is_alone
            first.join(SECONDS)
        assert waits.is_set()
        assert time.monotonic() - began > 0.6


class TestLook:
    def test_nobody_times_where_there_is_no_file_and_none_is_made(self, path: Path) -> None:
        assert not TimingLock(path).is_taken()
        assert not path.exists()

    def test_it_is_seen_from_another_process_and_by_several(self, path: Path) -> None:
        with holder(path) as process:
            assert "True" == says(process)
            assert [True, True] == [TimingLock(path).is_taken() for _ in range(2)]
        assert not TimingLock(path).is_taken()

    def test_looking_takes_nothing(self, path: Path) -> None:
        with holder(path) as process:
            assert "True" == says(process)
        TimingLock(path).is_taken()
        with TimingLock(path).turn(never) as turn:
            assert turn.is_alone


class TestFile:
    def test_everybody_may_open_it_whatever_the_umask(self, path: Path) -> None:
        before = os.umask(0o077)
        try:
            with TimingLock(path).turn():
                assert 0o444 == stat.S_IMODE(path.stat().st_mode)
        finally:
            os.umask(before)

    def test_it_is_in_the_same_place_for_all_users(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("TMPDIR", "/elsewhere")
        assert Path("/tmp/grader-timing.lock") == SHARED_PLACE

    def test_whoever_waits_while_it_is_removed_has_its_successor(self, path: Path) -> None:
        """A cleaner of old files may do that."""
        with holder(path) as process:
            assert "True" == says(process)

            def replace() -> None:
                path.unlink()
                process.kill()
                process.wait(SECONDS)

            with TimingLock(path, SECONDS).turn(replace) as turn:
                assert turn.is_alone
                assert TimingLock(path).is_taken()

    @needs_root("only root has other users")
    def test_root_and_a_user_share_it(self) -> None:
        command = as_user([sys.executable, "-c", HOLDER, str(SHARED_PLACE) + ".test"])
        path = Path(str(SHARED_PLACE) + ".test")
        path.unlink(missing_ok=True)
        try:
            with subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            ) as process:
                assert "True" == says(process)
                assert USER == path.stat().st_uid
                assert TimingLock(path).is_taken()
                process.kill()
            with TimingLock(path, SECONDS).turn() as turn:
                assert turn.is_alone
        finally:
            for left in path.parent.glob(f"{path.name}*"):
                left.unlink()


def make_link(path: Path) -> None:
    (path.parent / "target").touch()
    path.symlink_to("target")


def make_closed(path: Path) -> None:
    path.touch(mode=0)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (make_link, "it is a link"),
        (Path.mkdir, "not a regular file"),
        (os.mkfifo, "not a regular file"),
        pytest.param(
            make_closed,
            "Permission denied",
            marks=needs_user("root may open everything"),
        ),
    ],
)
class TestBadPlaces:
    def test_timing_goes_on_and_says_so(
        self, path: Path, make: Callable[[Path], object], reason: str
    ) -> None:
        make(path)
        with TimingLock(path).turn(never) as turn:
            assert not turn.is_alone
            assert reason in turn.note.english

    def test_looking_raises(self, path: Path, make: Callable[[Path], object], reason: str) -> None:
        make(path)
        with pytest.raises(LockError, match=reason):
            TimingLock(path).is_taken()


def test_a_folder_that_is_not_there_is_a_bad_place(tmp_path: Path) -> None:
    with TimingLock(tmp_path / "missing" / "lock").turn(never) as turn:
        assert "No such file" in turn.note.english


def test_no_link_is_followed_to_make_the_file(path: Path) -> None:
    path.symlink_to("target")
    with TimingLock(path).turn(never) as turn:
        assert not turn.is_alone
    assert not (path.parent / "target").exists()
