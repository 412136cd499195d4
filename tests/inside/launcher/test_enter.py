"""Whether a group was full, and not only one of its processes killed, in both versions."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.inside.launcher.enter import ControlGroups

LIMIT = 2**30


def write(folder: Path, **contents: object) -> str:
    (folder / "cgroup.procs").write_text("")
    for name, content in contents.items():
        (folder / name.replace("__", ".")).write_text(str(content))
    return str(folder)


def test_without_groups_nothing_overflows() -> None:
    assert not ControlGroups(()).has_overflowed()


@pytest.mark.parametrize(
    ("events", "full"), [("oom 1\noom_kill 1\n", True), ("oom 0\noom_kill 1\n", False)]
)
def test_version_2_counts_when_the_group_itself_was_full(
    tmp_path: Path, events: str, full: bool
) -> None:
    assert (
        full is ControlGroups([write(tmp_path, memory__events=f"low 0\n{events}")]).has_overflowed()
    )


@pytest.mark.parametrize(
    ("most", "kills", "full"), [(LIMIT, 1, True), (LIMIT // 2, 1, False), (LIMIT, 0, False)]
)
def test_version_1_has_killed_when_its_limit_was_reached(
    tmp_path: Path, most: int, kills: int, full: bool
) -> None:
    folder = write(
        tmp_path,
        memory__oom_control=f"oom_kill_disable 0\nunder_oom 0\noom_kill {kills}\n",
        memory__max_usage_in_bytes=most,
        memory__limit_in_bytes=LIMIT,
    )
    assert full is ControlGroups([folder]).has_overflowed()


def test_whoever_enters_is_written_into_every_group(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("memory", "pids")]
    for folder in folders:
        folder.mkdir()
        write(folder)
    ControlGroups([str(folder) for folder in folders]).enter()
    assert ["0", "0"] == [(folder / "cgroup.procs").read_text() for folder in folders]
