"""A class of two hundred with odd names in five scripts, from each system and back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from grader.errors import LmsError
from grader.gradebook.entries import plan, read_roster
from grader.lms.collect import read_manifest
from tests.gradebook.small_class import Class
from tests.lms.sync.commands import fetch, push
from tests.lms.sync.conftest import notebook
from tests.lms.sync.servers import Canvas, Reply, Request, Site
from tests.lms.sync.test_killed import standing

NAMES = (
    *("Ada Lovelace", "O'Brien, Séan", "李雷", "김민수", "Δημήτρης Παππάς", "अनन्या शर्मा"),
    *("=cmd()|' /C calc'!A0", "Jean-Luc  de la Fontaine", "Nguyễn Thị Ánh", "../../etc/passwd"),
)


def file_of(n: int) -> str:
    """Return a name of a file as these systems keep it."""
    return f"{NAMES[n % 10].replace('/', '_')}.ipynb"


@pytest.mark.parametrize("name", ["canvas", "moodle"])
def test_there_and_back_by_one_command_each_and_nothing_the_second_time(
    name: str, request: pytest.FixtureRequest, small: Class
) -> None:
    site: Site = request.getfixturevalue(name)
    for n in range(200):
        site.enrol(1000 + n, f"u{n:03}@example.org")  # type: ignore[attr-defined]
        site.users[-1] |= {"name": NAMES[n % 10], "fullname": NAMES[n % 10]}  # type: ignore[attr-defined]
        at = "2026-12-01T20:00:00Z" if isinstance(site, Canvas) else 1796155200
        site.hand_in(1000 + n, at, (file_of(n), notebook(str(n))))  # type: ignore[attr-defined]

    def fail(_: Request) -> Reply | None:
        kind = len(site.requests) % 23
        slow = {"Retry-After": "3"}
        return {5: (429, slow, b""), 11: (502, {}, b""), 17: (0, {}, b"")}.get(kind)

    site.faults.append(fail)
    with expiring(site, lambda: len(site.requests) > 2):
        fetch(site, small.folder)
    first = fetch(site, small.folder)
    assert first.complete, first.text
    manifest = read_manifest(small.folder / "class")
    assert 200 == len({each.id for each in manifest.students})
    for n in range(200):
        theirs = small.folder / "class" / "submissions" / f"u{n:03}@example.org"
        assert notebook(str(n)) == (theirs / file_of(n)).read_bytes()
    entries = read_roster(small.folder / "class" / "roster.csv")
    small.book.change_students(plan((), entries))
    small.grade_all({each.login: 1.0 if n % 2 else 0.5 for n, each in enumerate(entries)})
    before = _files(small.folder)
    assert "Unchanged: 200." in fetch(site, small.folder).text
    assert before == _files(small.folder)
    with expiring(site, lambda: sum(site.writes.values()) >= 90):
        push(site, small.folder)
    assert 90 == len(site.writes)
    assert push(site, small.folder).complete
    assert {1000 + n: 10.0 if n % 2 else 7.0 for n in range(200)} == standing(site)
    writes = dict(site.writes)
    assert "Unchanged: 200. Nothing was written." in push(site, small.folder).text
    assert writes == dict(site.writes)
    assert {1} == {*writes.values()}


@contextmanager
def expiring(site: Site, has_expired: Callable[[], bool]) -> Iterator[None]:
    """Let the token expire midway, and a command end with that; then there is a new one."""
    good = site.token

    def expire(_: Request) -> Reply | None:
        site.token = "another" if has_expired() else good
        return None

    site.faults.append(expire)
    with pytest.raises(LmsError, match="has expired"):
        yield
    site.faults.remove(expire)
    site.token = good


def _files(folder: Path) -> dict[str, bytes]:
    found = folder / "class"
    return {str(path): path.read_bytes() for path in found.rglob("*") if path.is_file()}
