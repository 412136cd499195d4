"""A batch is watched from another process: what is graded now, done and failed, until it ends."""

from __future__ import annotations

import fcntl
import io
import json
import os
import pty
import shutil
import signal
import subprocess
import threading
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from rich.console import Console

from grader.batch.grading import SUMMARY, open_store
from grader.batch.summary import Row, encode_summary, summarize
from grader.batch.watching import PROGRESS, BatchState, WatchedBatch, forget, state_of
from grader.cli.batch import run_watch
from grader.errors import UsageError
from grader.language import NOTHING, foreign
from grader.progress import SilentBatch
from tests.cli.test_batch import COURSE, ENDLESS, GRADER, wait_until, write
from tests.cli.test_telling import HIDE_CURSOR, SHOW_CURSOR, on_terminal, read_until, screen
from tests.endtoend.command import heed_interrupts

BEGAN = datetime(2026, 11, 30, 8, tzinfo=timezone.utc)
SECONDS = 120


def row(name: str, *, graded: bool = True, kept: bool = False) -> Row:
    return Row(name, f"{name}.ipynb", f"{name}.json", graded, kept, 3.0, 10.0, NOTHING)


class Times:
    """A clock that a test turns."""

    now = BEGAN

    def __call__(self) -> datetime:
        return self.now

    def later(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


@pytest.fixture
def clock() -> Times:
    return Times()


@pytest.fixture
def telling(tmp_path: Path, clock: Times) -> WatchedBatch:
    kept = {name: row(name, kept=True) for name in ("ada", "olga")}
    return WatchedBatch(tmp_path, SilentBatch(), 8, kept, clock)


def standing(folder: Path, clock: Times) -> BatchState:
    """Return what a watcher sees while the batch has the folder."""
    with open_store(folder):
        return state_of(folder, clock())


def test_who_is_at_work_and_what_is_done_is_seen_with_the_time_that_is_left(
    tmp_path: Path, telling: WatchedBatch, clock: Times
) -> None:
    for name in ("kim", "lee", "mia"):
        telling.started(name)
        clock.later(30)
    telling.stage("mia", foreign("running the notebook"))
    telling.finished("kim", foreign("7 of 10"))
    telling.finished("lee", foreign("not graded"), graded=False)
    seen = standing(tmp_path, clock)
    assert ("running", 8, 4, 1, 2) == (seen.status, seen.total, seen.done, seen.failed, seen.kept)
    assert [("mia", "running the notebook")] == [(e.name, e.stage.english) for e in seen.at_work]
    assert BEGAN + timedelta(seconds=60) == seen.at_work[0].since
    assert [("lee", False), ("kim", True)] == [(each.name, each.graded) for each in seen.latest]
    assert "3 min" == seen.left.english  # 45 s for each of two, and four are left


def test_who_is_graded_once_more_is_counted_until_that_is_done(
    tmp_path: Path, telling: WatchedBatch, clock: Times
) -> None:
    telling.started("kim")
    telling.put_back("kim", foreign("too busy"))
    assert (1, 2) == ((seen := standing(tmp_path, clock)).put_back, seen.done)
    telling.started("kim")
    telling.finished("kim", foreign("7 of 10"))
    assert (0, 3) == ((seen := standing(tmp_path, clock)).put_back, seen.done)


def test_a_batch_that_nobody_runs_any_more_was_killed(
    tmp_path: Path, telling: WatchedBatch, clock: Times
) -> None:
    assert "killed" == state_of(tmp_path, clock()).status
    forget(tmp_path)
    assert "preparing" == standing(tmp_path, clock).status


@pytest.mark.parametrize(("names", "status"), [(("ada", "kim"), "done"), (("ada",), "interrupted")])
def test_of_a_batch_that_has_ended_its_overview_says_how(
    tmp_path: Path, clock: Times, names: tuple[str, ...], status: str
) -> None:
    rows = {name: row(name, graded=name != "kim") for name in names}
    (tmp_path / SUMMARY).write_bytes(encode_summary(summarize(["ada", "kim"], rows)))
    seen = state_of(tmp_path, clock())
    assert (status, 2, len(names)) == (seen.status, seen.total, seen.done)
    assert len(names) - 1 == seen.failed


@pytest.mark.parametrize("content", [None, b"{", b'{"status": "odd"}', b"\xff"])
def test_what_is_no_batch_is_refused(tmp_path: Path, clock: Times, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / PROGRESS).write_bytes(content)
    with pytest.raises(UsageError, match="No batch is or was writing"):
        state_of(tmp_path, clock())


def test_whoever_looks_keeps_no_batch_from_beginning(tmp_path: Path) -> None:
    folder = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_SH)
    threading.Timer(0.05, os.close, (folder,)).start()
    with open_store(tmp_path):
        pass


def test_that_nobody_can_be_told_ends_no_batch(tmp_path: Path, clock: Times) -> None:
    telling = WatchedBatch(tmp_path / "gone", SilentBatch(), 1, {}, clock)
    telling.started("ada")
    telling.finished("ada", foreign("7 of 10"))


def test_names_and_outcomes_are_plain_text_on_a_terminal(
    tmp_path: Path, telling: WatchedBatch, clock: Times
) -> None:
    console, file = on_terminal(width=100)
    telling.started("[bold]kim\x1b[2J")
    telling.started("lee")
    telling.finished("lee", foreign("[red]7\x1b]0;x\x07 of 10"))
    (tmp_path / SUMMARY).write_bytes(b"{}")
    run_watch(tmp_path, console, print, clock)
    text = "\n".join(screen(file.getvalue()))
    assert "[bold]kim" in text
    assert "[red]7" in text
    assert "\x1b]0;" not in file.getvalue()
    assert "was killed while it ran" in text


def test_json_has_a_line_for_each_look(tmp_path: Path, telling: WatchedBatch, clock: Times) -> None:
    lines: list[bytes] = []

    def wait(_: float) -> None:
        telling.finished("kim", foreign("7 of 10"))
        if len(lines) == 2:
            store.__exit__(None, None, None)

    store = open_store(tmp_path)
    store.__enter__()
    telling.started("kim")
    run_watch(tmp_path, Console(quiet=True), lines.append, clock, wait, json=True)
    found = [json.loads(line) for line in lines]
    assert [2, 3, 4] == [each["done"] for each in found]
    assert ["running", "running", "killed"] == [each["status"] for each in found]
    assert "7 of 10" == found[1]["latest"][0]["outcome"]


def test_lines_tell_of_what_is_done_and_not_of_each_guess(
    tmp_path: Path, telling: WatchedBatch, clock: Times
) -> None:
    looks = iter(range(4))

    def wait(_: float) -> None:
        clock.later(400)
        if next(looks) == 3:
            store.__exit__(None, None, None)

    store = open_store(tmp_path)
    store.__enter__()
    telling.started("kim")
    telling.finished("kim", foreign("7 of 10"))
    telling.started("min")
    file = io.StringIO()
    run_watch(tmp_path, Console(file=file), print, clock, wait)
    assert [
        "3 of 8 done; 2 of them before",
        "3 of 8 done; 2 of them before",
        "The batch was killed while it ran: the same command continues.",
    ] == [line.partition("; about")[0] for line in file.getvalue().splitlines()]


def start(folder: Path, *words: str, terminal: int | None = None) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [GRADER, *words],
        cwd=folder,
        stdin=terminal,
        stdout=subprocess.PIPE if terminal is None else terminal,
        stderr=subprocess.PIPE if terminal is None else terminal,
        text=True,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "100"},
        preexec_fn=heed_interrupts,
    )


def _patient(folder: Path) -> Path:
    """Return the course with time for a cell that is not up before two watchers have started."""
    course = folder / "course"
    shutil.copytree(COURSE, course)
    settings = course / "assignments/small/assignment.toml"
    limits = {
        "cell_seconds = 20": "cell_seconds = 300",
        "notebook_seconds = 40": "notebook_seconds = 300",
    }
    text = settings.read_text()
    for before, after in limits.items():
        assert before in text
        text = text.replace(before, after)
    settings.write_text(text)
    return course


@pytest.mark.graded
def test_a_real_batch_is_watched_and_goes_on_when_the_watcher_is_interrupted(
    tmp_path: Path,
) -> None:
    """One is damaged, one never ends: what is seen is told on a terminal, and then in lines."""
    (tmp_path / "class" / "ada").mkdir(parents=True)
    (tmp_path / "class" / "ada" / "hw.ipynb").write_text("no notebook")
    write(tmp_path / "class" / "kim" / "hw.ipynb", *ENDLESS)
    options = ("--output", "reports", "--course", str(_patient(tmp_path)), "--jobs", "1")
    batch = start(tmp_path, "batch", "class", *options)
    wait_until(lambda: (tmp_path / "reports" / PROGRESS).exists() or batch.poll() is not None)
    ours, theirs = pty.openpty()
    try:
        watcher = start(tmp_path, "watch", "reports", terminal=theirs)
        os.close(theirs)
        shown = read_until(ours, "kim/hw", SECONDS) + read_until(ours, "1 of 2 done", SECONDS)
        watcher.send_signal(signal.SIGINT)
        shown += read_until(ours, "interrupted.", SECONDS)
        assert 128 + signal.SIGINT == watcher.wait(SECONDS)
        assert "1 could not be graded" in shown
        assert shown.rindex(SHOW_CURSOR) > shown.rindex(HIDE_CURSOR)
        in_lines = start(tmp_path, "watch", "reports")
        assert in_lines.stdout is not None
        assert "1 of 2 done; 1 could not be graded\n" == in_lines.stdout.readline()
        assert batch.poll() is None
        batch.send_signal(signal.SIGINT)
        output, _ = in_lines.communicate(timeout=SECONDS)
        assert "was interrupted" in output
        assert 0 == in_lines.returncode
    finally:
        os.close(ours)
        batch.send_signal(signal.SIGINT)
        batch.communicate(timeout=SECONDS)
    assert not (tmp_path / "reports" / PROGRESS).exists()
