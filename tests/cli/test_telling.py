"""Progress on a terminal, in a file, and after Ctrl-C."""

from __future__ import annotations

import io
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from rich.console import Console

from grader.cli.telling import LiveBatch, LiveProgress, tell_beside
from grader.language import foreign
from grader.progress import BatchProgress, Progress, duration
from tests.endtoend.command import heed_interrupts

SHOW_CURSOR, HIDE_CURSOR = "\x1b[?25h", "\x1b[?25l"

WORK = """
import sys, time
from grader.cli.telling import LiveProgress
from grader.language import foreign
with LiveProgress() as progress:
    progress.stage(foreign("running the notebook"))
    progress.step(2, 17, foreign("cell 3 of 17"))
    time.sleep(60)
"""


def on_terminal(width: int = 80) -> tuple[Console, io.StringIO]:
    file = io.StringIO()
    return Console(file=file, force_terminal=True, width=width, _environ={"TERM": "xterm"}), file


def screen(output: str) -> list[str]:
    """Return the lines that are left on a screen after rich's cursor movements."""
    lines, row = [""], 0
    for token in re.findall(r"\x1b\[[?\d;]*[A-Za-z]|\r|\n|[^\x1b\r\n]+", output):
        if token == "\n":
            row += 1
            lines += [""] * (row + 1 - len(lines))
        elif token == "\x1b[2K":
            lines[row] = ""
        elif re.fullmatch(r"\x1b\[\d+A", token):
            row -= int(token[2:-1])
        elif token[0] not in "\x1b\r":
            lines[row] += token
    return [line for line in lines if line]


class TestTerminal:
    """A bar while it goes on, nothing afterwards."""

    def test_it_is_the_progress_that_the_pipeline_calls(self) -> None:
        progress: Progress = LiveProgress(on_terminal()[0])
        assert {"stage", "step"} <= set(dir(progress))

    def test_the_stage_and_its_step_are_shown(self) -> None:
        console, file = on_terminal()
        with LiveProgress(console) as progress:
            progress.stage(foreign("running the notebook"))
            progress.step(2, 17, foreign("cell 3 of 17"))
            progress.refresh()
            last = screen(file.getvalue())[-1]
            assert last.startswith("running the notebook ")
            assert "cell 3 of 17" in last
            assert "0:00:0" in last

    def test_finished_stages_stay_in_view_without_their_step(self) -> None:
        console, file = on_terminal()
        with LiveProgress(console) as progress:
            progress.stage(foreign("running the notebook"))
            progress.step(2, 17, foreign("cell 3 of 17"))
            progress.stage(foreign("comparing with PyTorch"))
            progress.refresh()
            first, second = screen(file.getvalue())[-2:]
            assert first.startswith("running the notebook")
            assert "cell 3" not in first
            assert second.startswith("comparing with PyTorch")

    def test_a_step_without_a_label_counts(self) -> None:
        console, file = on_terminal()
        with LiveProgress(console) as progress:
            progress.stage(foreign("timing"))
            progress.step(2, 3)
            progress.refresh()
            assert "2 of 3" in screen(file.getvalue())[-1]

    def test_nothing_is_left_on_the_screen(self) -> None:
        console, file = on_terminal()
        with LiveProgress(console) as progress:
            progress.stage(foreign("one"))
            progress.step(1, 2)
            progress.stage(foreign("two"))
        assert screen(file.getvalue()) == []
        assert file.getvalue().rindex(SHOW_CURSOR) > file.getvalue().rindex(HIDE_CURSOR)

    def test_nothing_is_left_after_an_error_and_the_error_goes_on(self) -> None:
        console, file = on_terminal()
        with pytest.raises(ValueError, match="mine"), LiveProgress(console) as progress:
            progress.stage(foreign("one"))
            raise ValueError("mine")
        assert screen(file.getvalue()) == []

    def test_a_long_label_does_not_break_the_line(self) -> None:
        console, file = on_terminal(width=60)
        with LiveProgress(console) as progress:
            progress.stage(foreign("comparing with PyTorch"))
            progress.step(1, 2, foreign("한국어 제목이 아주 길어도 " * 10))
            progress.refresh()
            assert len(screen(file.getvalue())) == 1

    def test_labels_are_plain_text(self) -> None:
        console, file = on_terminal(width=120)
        with LiveProgress(console) as progress:
            progress.stage(foreign("[bold]stage\x1b]0;pwned\x07"))
            progress.step(1, 2, foreign("[red]label[/red]{task}\x1b[2J\nnext"))
            progress.refresh()
            (line,) = screen(file.getvalue())
        assert line.startswith("[bold]stage ")
        assert "[red]label[/red]{task} next" in line
        assert "\x1b[2J" not in file.getvalue()
        assert "pwned" not in file.getvalue()

    def test_a_step_before_any_stage_is_ignored(self) -> None:
        with LiveProgress(on_terminal()[0]) as progress:
            progress.step(1, 2, foreign("early"))

    def test_steps_without_a_total_do_not_fail(self) -> None:
        with LiveProgress(on_terminal()[0]) as progress:
            progress.stage(foreign("empty notebook"))
            progress.step(0, 0)


class TestPlainLines:
    """One line a stage where nobody can watch a bar."""

    @pytest.mark.parametrize(
        "options", [{}, {"force_terminal": True, "_environ": {"TERM": "dumb"}}]
    )
    def test_there_is_one_line_a_stage(self, options: dict) -> None:
        file = io.StringIO()
        with LiveProgress(Console(file=file, width=20, **options)) as progress:
            progress.stage(foreign("running the notebook of a student"))
            progress.step(1, 2, foreign("cell 2 of 2"))
            progress.stage(foreign("[b]comparing\x1b[2J"))
        assert file.getvalue() == "running the notebook of a student\n[b]comparing\n"


class TestBatch:
    """How far a batch is."""

    def test_it_is_the_progress_that_a_batch_calls(self) -> None:
        progress: BatchProgress = LiveBatch(on_terminal()[0], total=3)
        assert {"started", "finished"} <= set(dir(progress))

    def test_a_terminal_shows_the_count_and_the_names_at_work(self) -> None:
        console, file = on_terminal()
        with LiveBatch(console, total=40, done=11) as progress:
            progress.started("ada/hw")
            progress.started("ben/hw")
            progress.started("cem/hw")
            progress.finished("ben/hw", foreign("10 of 10"))
            progress.refresh()
            (line,) = screen(file.getvalue())
            assert line.startswith("graded 12 of 40 ")
            assert "ada/hw, cem/hw" in line
        assert screen(file.getvalue()) == []

    def test_only_some_of_many_names_are_shown(self) -> None:
        console, file = on_terminal(width=120)
        with LiveBatch(console, total=40) as progress:
            for number in range(9):
                progress.started(f"s{number}")
            progress.refresh()
            assert "s0, s1, s2, s3 and 5 more" in screen(file.getvalue())[-1]

    def test_the_time_that_is_left_is_estimated_from_those_that_are_finished(self) -> None:
        file, now = io.StringIO(), [0.0]
        console = Console(file=file, width=80)
        with LiveBatch(console, total=33, done=11, clock=lambda: now[0]) as progress:
            for name in "abc":
                progress.started(name)
                now[0] += 90
                progress.finished(name, foreign("graded"))
        assert file.getvalue().splitlines() == [
            "graded 12 of 33: a: graded",
            "graded 13 of 33, about 30 min left: b: graded",
            "graded 14 of 33, about 29 min left: c: graded",
        ]

    def test_who_is_graded_once_more_is_not_counted(self) -> None:
        file = io.StringIO()
        with LiveBatch(Console(file=file, width=80), total=2) as progress:
            progress.started("ada")
            progress.put_back("ada", "to be graded again: The machine was too busy.")
            progress.started("ada")
            progress.finished("ada", foreign("10 of 10"))
        assert file.getvalue().splitlines() == [
            "again at the end: ada: to be graded again: The machine was too busy.",
            "graded 1 of 2: ada: 10 of 10",
        ]

    def test_who_waits_for_another_grading_is_shown_as_waiting(self) -> None:
        console, file = on_terminal(width=120)
        with LiveBatch(console, total=2) as progress:
            progress.started("ada")
            progress.stage(
                "ada",
                foreign("waiting for another grading's timing, 10 minutes at most"),
                waits=True,
            )
            progress.refresh()
            assert "ada (waiting for another grading's timing" in screen(file.getvalue())[-1]
            progress.stage("ada", foreign("timing"))
            progress.refresh()
            assert "waiting" not in screen(file.getvalue())[-1]

    @pytest.mark.parametrize(
        ("seconds", "said"), [(1, "10 s"), (59, "60 s"), (61, "2 min"), (7500, "2 h 5 min")]
    )
    def test_durations_are_rough(self, seconds: float, said: str) -> None:
        assert said == duration(seconds).english

    @pytest.mark.parametrize(
        ("language", "said"),
        [("zh", ["40 秒", "12 分钟", "2 小时 5 分钟"]), ("ko", ["40초", "12분", "2시간 5분"])],
    )
    def test_durations_are_said_in_every_language(self, language: str, said: list[str]) -> None:
        assert said == [duration(each).in_(language) for each in (31, 700, 7500)]

    def test_elsewhere_there_is_a_line_for_each_that_is_finished(self) -> None:
        file = io.StringIO()
        with LiveBatch(Console(file=file, width=20), total=3, done=1) as progress:
            progress.started("ada/hw")
            progress.started("[b]ben\x1b[2J")
            progress.finished("[b]ben\x1b[2J", "not graded: it is\nno notebook")
            progress.finished("ada/hw", "10 of 10")
        assert file.getvalue().splitlines() == [
            "graded 2 of 3: [b]ben: not graded: it is no notebook",
            "graded 3 of 3: ada/hw: 10 of 10",
        ]

    def test_a_log_is_not_silent_until_the_first_is_finished(self) -> None:
        file, now = io.StringIO(), [0.0]
        with LiveBatch(Console(file=file), total=2, clock=lambda: now[0]) as progress:
            for name in ("ada/hw", "ben/hw"):
                progress.started(name)
            for now[0] in (10, 40, 50, 80):
                progress.stage("ada/hw", foreign("running the notebook"))
            progress.finished("ben/hw", "10 of 10")
            progress.stage("ada/hw", foreign("timing"))
        assert file.getvalue().splitlines() == [
            "graded 0 of 2; being graded: ada/hw, ben/hw",
            "graded 0 of 2; being graded: ada/hw, ben/hw",
            "graded 1 of 2: ben/hw: 10 of 10",
        ]

    def test_people_are_called_by_their_names_where_files_have_others(self) -> None:
        file = io.StringIO()
        called = {"9f86d0": foreign("ada, ben")}
        with LiveBatch(Console(file=file), total=1, called=called) as progress:
            progress.started("9f86d0")
            progress.finished("9f86d0", "10 of 10")
        assert "graded 1 of 1: ada, ben: 10 of 10\n" == file.getvalue()


def read_until(terminal: int, text: str, seconds: float) -> str:
    """Read from a terminal until `text` was written or the program is gone."""
    output = b""
    end = time.monotonic() + seconds
    while text.encode() not in output and time.monotonic() < end:
        if select.select([terminal], [], [], 0.1)[0]:
            try:
                output += os.read(terminal, 65536)
            except OSError:  # the program closed it
                break
    return output.decode()


def test_ctrl_c_leaves_a_clean_terminal() -> None:
    """A real program on a real terminal, interrupted in the middle of a stage."""
    ours, theirs = pty.openpty()
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "80"}
    process = subprocess.Popen(
        [sys.executable, "-c", WORK],
        stderr=theirs,
        stdout=theirs,
        stdin=theirs,
        env=environment,
        preexec_fn=heed_interrupts,
    )
    os.close(theirs)
    try:
        output = read_until(ours, "cell 3 of 17", 20)
        assert "running the notebook" in output
        process.send_signal(signal.SIGINT)
        output += read_until(ours, "KeyboardInterrupt", 20)
        assert process.wait(20) != 0
    finally:
        process.kill()
        process.wait()
        os.close(ours)
    display, traceback = output.split("Traceback", 1)
    assert "KeyboardInterrupt" in traceback
    assert display.rindex(SHOW_CURSOR) > display.rindex(HIDE_CURSOR)
    assert screen(display) == []


def test_what_stands_between_colons_is_told_as_it_is() -> None:
    """`assignment.toml:100: error` was shown with an emoji in the place of the line."""
    consoles = [
        (path.name, call)
        for path in (Path(__file__).parents[2] / "grader").rglob("*.py")
        for call in re.findall(r"(?<![`\w])Console\((?:[^()]|\(\))*\)", path.read_text("utf-8"))
    ]
    assert len(consoles) > 5
    assert not [each for each in consoles if "emoji=False" not in each[1]]


@pytest.mark.parametrize("is_terminal", [True, False])
def test_a_command_in_a_pipe_is_on_one_line(is_terminal: bool) -> None:
    output = io.StringIO()
    console = Console(file=output, width=40, force_terminal=is_terminal, no_color=True)
    command = "pip install --force-reinstall --no-deps torchvision==0.28.0"
    tell_beside(console, "Hint", command)
    assert (not is_terminal) == (f"Hint      {command}\n" == output.getvalue())
