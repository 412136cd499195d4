"""Ranks: of who wants to be in them, with ties where nobody can tell, on one kind of machine."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from msgspec.structs import replace
from rich.console import Console

from grader.cli.class_reports import ClassOptions
from grader.cli.comparing import read_consent, run_leaderboard
from grader.errors import UsageError
from grader.insights.exports import Leaderboard, leaderboard
from grader.insights.observation import Speed
from grader.language import NOTHING
from grader.render.html.class_works import leaderboard_markdown, render_leaderboard
from grader.report import encode_report
from tests.browser import PHONE, Browser, browser, chromium, visit
from tests.insights.classes import timed
from tests.render.html.reading import read
from tests.sample_reports import typical

__all__ = ["browser", "chromium"]

NAMES = {"ada": "swift fox 1", "olga": "keen owl 2", "kim": "calm crane 3"}


def speed(value: float, width: float = 0.1, machine: str = "EPYC") -> Speed:
    return Speed(machine, "conv2d", value, value - width, value + width, 4.0)


def board(*speeds: tuple[str, Speed], machine: str = "") -> Leaderboard:
    found = leaderboard("e2e-conv", speeds, NAMES, machine)
    assert found is not None
    return found


def test_whose_intervals_overlap_share_a_rank() -> None:
    found = board(("ada", speed(3.0)), ("olga", speed(2.95)), ("kim", speed(1.0)))
    assert [(1, "swift fox 1"), (1, "keen owl 2"), (3, "calm crane 3")] == [
        (each.rank, each.name) for each in found.rows
    ]


def test_the_best_attempt_counts_and_who_did_not_ask_is_not_there() -> None:
    found = board(("ada", speed(1.0)), ("ada", speed(2.0)), ("eve", speed(9.0)))
    assert [2.0] == [each.speedup for each in found.rows]


def test_one_kind_of_machine_at_a_time() -> None:
    speeds = (("ada", speed(2.0)), ("kim", speed(3.0)), ("olga", speed(9.0, machine="Xeon")))
    assert (2, 1) == (len(board(*speeds).rows), board(*speeds).elsewhere)
    assert ["keen owl 2"] == [each.name for each in board(*speeds, machine="xeon").rows]
    assert leaderboard("x", speeds, NAMES, "arm") is None


def test_a_name_is_made_up_once_and_stays(tmp_path: Path) -> None:
    path = tmp_path / "consent.csv"
    path.write_text("student,name,note\nada,swift fox 1,x\nolga,,\n")
    names = read_consent(path)
    assert names["olga"] and names == read_consent(path)
    assert "x" in path.read_text()


@pytest.mark.parametrize("text", ["a,b\n1,2\n", "student,name\nada,x\nolga,x\n"])
def test_what_says_nothing_of_names_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "consent.csv").write_text(text)
    with pytest.raises(UsageError):
        read_consent(tmp_path / "consent.csv")


def test_a_name_is_no_markup() -> None:
    rows = board(("ada", speed(2.0))).rows
    harm = "<script>x()</script>|[a](javascript:b)"
    hostile = replace(board(("ada", speed(2.0))), rows=(replace(rows[0], name=harm),))
    text = leaderboard_markdown(hostile, NOTHING, "en").decode()
    assert "<script>" not in text and "](" not in text
    assert 5 == text.splitlines()[6].replace("\\|", "").count("|")
    assert "<script>" not in render_leaderboard(hostile, NOTHING, "en", "").decode()


@pytest.fixture
def written(tmp_path: Path) -> Path:
    for name, factor in (("ada", 1.0), ("olga", 2.0), ("eve", 3.0)):
        (tmp_path / "reports" / name).mkdir(parents=True)
        report = encode_report(timed(typical(), factor))
        (tmp_path / "reports" / name / "hw.json").write_bytes(report)
    (tmp_path / "reports" / "summary.json").write_text("{}")
    (tmp_path / "consent.csv").write_text("student,name\nada,swift fox 1\nolga,keen owl 2\n")
    found = ClassOptions(reports=tmp_path / "reports", every=True)
    consent, console = tmp_path / "consent.csv", Console(quiet=True)
    run_leaderboard(found, tmp_path / "board", consent, console)
    return tmp_path / "board"


def test_nobodys_own_name_is_in_what_is_written(written: Path) -> None:
    assert 3 == len([*written.iterdir()])
    for path in written.iterdir():
        text = path.read_text()
        assert "keen owl 2" in text
        assert not {"ada", "olga", "eve"} & {*text.replace('"', " ").split()}


def test_who_opted_in_and_was_not_measured_is_named(written: Path, tmp_path: Path) -> None:
    """On the console alone: the board is for everybody."""
    consent, console = tmp_path / "consent.csv", Console(file=io.StringIO(), width=200)
    consent.write_text(f"{consent.read_text()}zoe,lucky lynx 3\n")
    found = ClassOptions(reports=tmp_path / "reports", every=True)
    run_leaderboard(found, written, consent, console)
    assert "without a measured schedule in e2e-conv (1): zoe." in console.file.getvalue()
    assert "zoe" not in (written / "e2e-conv-leaderboard.html").read_text()


def test_hidden_speed_is_not_told(written: Path, tmp_path: Path) -> None:
    report = timed(typical(), 1.0)
    hidden = tuple(
        replace(
            part,
            checks=tuple(replace(each, kind="speed", visibility="hidden") for each in part.checks),
        )
        for part in report.parts
    )
    for path in (tmp_path / "reports").rglob("hw.json"):
        path.write_bytes(encode_report(replace(report, parts=hidden)))
    found = ClassOptions(reports=tmp_path / "reports", every=True)
    with pytest.raises(UsageError, match="was measured"):
        run_leaderboard(found, tmp_path / "other", tmp_path / "consent.csv", Console(quiet=True))


def test_the_page_is_quiet_and_clean(browser: Browser, written: Path) -> None:
    path = written / "e2e-conv-leaderboard.html"
    found = read(path.read_bytes())
    assert [] == found.unbalanced
    assert 1 == found.text.count("grader")  # its foot says once what has made it
    opened = visit(browser, path, PHONE, "dark")
    assert ([], [], 0) == (opened.events, opened.violations(), max(opened.overflow(), 0))
