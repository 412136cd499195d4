"""Killed while it pushes a thousand grades, again and again: none is wrong, doubled or lost."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from grader.gradebook.entries import RosterEntry, plan
from tests.gradebook.small_class import SLUG, Class
from tests.lms.sync.commands import platform_of, url_of
from tests.lms.sync.lti_server import Lti
from tests.lms.sync.servers import Canvas, Moodle, Reply, Request, Site

ROOT = Path(__file__).parents[3]
STUDENTS, KILLS = 1_000, 8
SHARES = (0.0, 0.25, 0.5, 1.0)
EXPECTED = {0.0: 4.0, 0.25: 5.5, 0.5: 7.0, 1.0: 10.0}


def make_class(site: Site, small: Class) -> dict[int, float]:
    """Grade a class that the site has, too; return what its users are to get."""
    column = {"canvas": "Canvas user ID", "moodle": "Moodle user ID", "lti": "LTI user ID"}[
        platform_of(site)
    ]
    logins = {f"s{n:04}": 1000 + n for n in range(STUDENTS)}
    entries = [
        RosterEntry(login, {"name": login}, {column: str(user)}) for login, user in logins.items()
    ]
    small.book.change_students(plan((), entries))
    shares = {login: SHARES[user % 4] for login, user in logins.items()}
    small.grade_all(shares)
    for login, user in logins.items():
        site.enrol(user, login)
    (small.folder / "class").mkdir(exist_ok=True)
    source = {"platform": platform_of(site), "url": url_of(site)}
    (small.folder / "class" / "lms.json").write_bytes(msgspec.json.encode(source))
    return {user: EXPECTED[shares[login]] for login, user in logins.items()}


def begin(site: Site, folder: Path) -> subprocess.Popen[bytes]:
    words = ["sync", platform_of(site), "push", "class", "--assignment", SLUG, "--yes"]
    command = [sys.executable, "-m", "grader", *words, "--course", str(folder)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def kill_midway(site: Site, folder: Path, after: int) -> bool:
    """Begin a push and kill it once it has written so many; say whether it was still at it."""
    target = sum(site.writes.values()) + after
    process = begin(site, folder)
    while process.poll() is None and sum(site.writes.values()) < target:
        time.sleep(0.002)
    was_at_it = process.poll() is None
    if was_at_it:
        os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    return was_at_it


def standing(site: Site) -> dict[int, float]:
    if isinstance(site, Canvas):
        points = {user: each["entered_score"] for user, each in site.submissions.items()}
        return {user: each for user, each in points.items() if each is not None}
    if isinstance(site, Lti):
        return {int(user): points for user, points in site.standing().items()}
    assert isinstance(site, Moodle)
    return {user: float(each["grade"]) for user, each in site.grades.items()}


def pages(site: Site) -> set[int]:
    """Return how many pages students have, by LTI how many comments."""
    if isinstance(site, Lti):
        assert 1 == len(site.items), "a column was made twice"
        return {int(each["comment"].startswith("Points by ")) for each in site.results.values()}
    if isinstance(site, Canvas):
        return {len(each["submission_comments"]) for each in site.submissions.values()}
    assert isinstance(site, Moodle)
    return {len(each["files"]) for each in site.grades.values()}


@pytest.mark.parametrize("name", ["canvas", "moodle", "lti"])
def test_of_a_thousand_grades_none_is_wrong_doubled_or_lost(
    name: str, request: pytest.FixtureRequest, small: Class
) -> None:
    """Meanwhile every 31st request fails, half of them after they were done."""
    site = request.getfixturevalue(name)
    expected = make_class(site, small)
    draw = random.Random(7)

    def fail(_: Request) -> Reply | None:
        failing = len(site.requests) % 31 == 0
        return (draw.choice((500, 503)), {"Retry-After": "0"}, b"") if failing else None

    site.faults.append(lambda e: fail(e) if draw.random() < 0.5 else None)
    site.late_faults.append(fail)
    kills = sum(kill_midway(site, small.folder, draw.randint(5, 70)) for _ in range(KILLS))
    assert kills >= KILLS - 2
    process = begin(site, small.folder)
    output, errors = process.communicate()
    assert 0 == process.returncode, (output + errors).decode()
    assert expected == standing(site)
    assert {1} == pages(site)
    writes = sum(site.writes.values())
    again = begin(site, small.folder)
    output, errors = again.communicate()
    assert 0 == again.returncode, (output + errors).decode()
    assert writes == sum(site.writes.values())
    if not isinstance(site, Moodle):  # which is sent once more what may not have arrived
        assert {1} == {*site.writes.values()}, "a grade was written twice"
