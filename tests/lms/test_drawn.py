"""Archives drawn by a grammar, with names that students chose to be somebody else's.

Every file says whose it is. Whatever the names are, no file lies in another's folder, and every
student who handed in has one folder, or a reason with the system's own name for it.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import re
import tarfile
import tempfile
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from grader.lms.choices import LAYOUTS, Key, Layout
from grader.lms.roster import Roster, RosterPerson
from tests.lms.archives import tar_member
from tests.lms.collecting import collect, contents, reasons

ENDS = ("ipynb", "zip", "tar", "tgz", "tar.bz2", "tar.xz", "txt")
FORGED = (
    "Bob Byron",
    "bob",
    "ada",
    "x-adalove",
    "adalove",
    "submitted",
    "Bob_7-7_88102",
    "Bob_77_88102",
    "bobbyron_7-7_88102",
    "Bob Byron_99_assignsubmission_file_",
    "x_99_assignsubmission_file_y",
    "Bob - Jan 1, 2026 100 AM - x",
    "12-34 - Bob - Jan 1, 2026 100 AM",
    "LATE",
    "anon",
    "2026_11_28",
)
TOUCHED = st.text(st.characters(codec="utf-8", exclude_characters="/\\\0"), min_size=1, max_size=9)
WORDS = st.one_of(st.sampled_from(FORGED), TOUCHED)
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)


class Drawn(NamedTuple):
    """Somebody who hands in: the numbers are the system's, all else is chosen."""

    number: int
    name: str
    files: dict[str, bytes]
    login: str


def zipped(files: dict[str, bytes], method: int) -> bytes:
    buffer = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with zipfile.ZipFile(buffer, "w", method) as archive:
            for name, content in files.items():
                archive.writestr(zipfile.ZipInfo(name), content, method)
    return buffer.getvalue()


def tarred(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, content in files.items():
            tar_member(archive, name, content)
    return buffer.getvalue()


Packer = Callable[[dict[str, bytes]], bytes]
TARS: dict[str, Packer] = {
    "tar": tarred,
    # gzip's header holds the time, and what is drawn may depend on nothing but the draws
    "tgz": lambda files: gzip.compress(tarred(files), mtime=0),
    "tar.bz2": lambda files: bz2.compress(tarred(files)),
    "tar.xz": lambda files: lzma.compress(tarred(files)),
}
CONTAINERS: dict[str, Packer] = {
    "zip": lambda files: zipped(files, zipfile.ZIP_DEFLATED),
    "stored.zip": lambda files: zipped(files, zipfile.ZIP_STORED),
    **TARS,
}
"""What a class is packed in, by the end of the archive's name."""


PATHS = st.lists(
    st.one_of(WORDS, st.sampled_from(["..", "C:", "hw", "timestamp.txt"])), min_size=1, max_size=4
)


def file_names(end: str) -> st.SearchStrategy[str]:
    return WORDS.map(lambda word: f"{word.replace('/', '')}.{end}")


@st.composite
def contents_of(draw: st.DrawFn, marker: bytes, depth: int = 0) -> tuple[str, bytes]:
    """Draw a file and its name: a notebook, or an archive of such, perhaps a damaged one."""
    end = draw(st.sampled_from(ENDS if depth < 3 else ("ipynb",)))
    name = draw(file_names(end))
    if end in ("ipynb", "txt"):
        return name, marker
    inner = {}
    for _ in range(draw(st.integers(0, 3))):
        below, content = draw(contents_of(marker, depth + 1))
        inner["/".join([*draw(PATHS), below])] = content
    packed = zipped(inner, draw(st.sampled_from(METHODS))) if end == "zip" else TARS[end](inner)
    if draw(st.booleans()) and draw(st.booleans()):
        at = draw(st.integers(0, len(packed) - 1))
        packed = packed[:at] + bytes([packed[at] ^ draw(st.integers(1, 255))]) + packed[at + 1 :]
    return name, packed


@st.composite
def classes(draw: st.DrawFn) -> list[Drawn]:
    numbers = [77, 99, *draw(st.lists(st.integers(100, 9999), max_size=4, unique=True))]
    found = []
    for number in draw(st.permutations(numbers))[: draw(st.integers(1, len(numbers)))]:
        marker = f"whose:{number}:".encode()
        files = dict(draw(st.lists(contents_of(marker), min_size=1, max_size=3)))
        files = {
            name: marker + f"file:{at}:".encode() if content == marker else content
            for at, (name, content) in enumerate(files.items())
        }
        name = draw(WORDS) if number not in (77, 99) else "Bob Byron"
        login = draw(st.sampled_from(["x-adalove", "adalove", "bob-x"])) + str(number)
        found.append(Drawn(number, name, files, login))
    return found


def by_canvas(each: Drawn) -> dict[str, bytes]:
    """Name files as Canvas' ContentZipper does."""
    plain = re.sub(r"_(\d+)_", r"\1", each.name).lower()
    who = re.sub(r"[^\w]", "", f"{plain}_{each.number}")
    return {
        f"{who}_{88000 + each.number * 5 + at}_{name}": content
        for at, (name, content) in enumerate(each.files.items())
    }


def by_moodle(each: Drawn) -> dict[str, bytes]:
    who = f"{each.name}_{each.number}_assignsubmission_file_"
    return {f"{who}/{name}": content for name, content in each.files.items()}


def by_moodle_without_folders(each: Drawn) -> dict[str, bytes]:
    who = f"{each.name}_{each.number}_assignsubmission_file_"
    return {f"{who}{name}": content for name, content in each.files.items()}


def by_brightspace(each: Drawn) -> dict[str, bytes]:
    who = f"{each.number}-34 - {each.name} - Nov 3, 2026 1205 PM"
    return {f"{who}/{name}": content for name, content in each.files.items()}


def by_blackboard(each: Drawn) -> dict[str, bytes]:
    who = f"Lab_1_{each.login}_attempt_2026-11-03-12-05-00"
    return {f"{who}_{name}": content for name, content in each.files.items()}


def by_folders(each: Drawn) -> dict[str, bytes]:
    return {f"{each.login}/{name}": content for name, content in each.files.items()}


def by_nbgrader(each: Drawn) -> dict[str, bytes]:
    return {f"submitted/{each.login}/hw/{name}": c for name, c in each.files.items()}


def by_classroom(each: Drawn) -> dict[str, bytes]:
    own = {f"hw-{each.login}/{name}": content for name, content in each.files.items()}
    return {f"hw-{each.login}/.git/HEAD": b"", **own}


def by_gradescope(each: Drawn) -> dict[str, bytes]:
    return {f"submission_{each.number}/{name}": content for name, content in each.files.items()}


def metadata_of_gradescope(handed_in: list[Drawn]) -> dict[str, bytes]:
    """Say whose each submission is."""
    told = {
        f"submission_{each.number}": {
            ":submitters": [{":name": each.name, ":sid": str(each.number)}]
        }
        for each in handed_in
    }
    return {"submission_metadata.yml": yaml.safe_dump(told, allow_unicode=True).encode()}


Namer = Callable[[Drawn], dict[str, bytes]]
NAMERS: dict[Namer, Layout] = {
    by_canvas: "canvas",
    by_moodle: "moodle",
    by_moodle_without_folders: "moodle",
    by_gradescope: "gradescope",
    by_brightspace: "brightspace",
    by_blackboard: "blackboard",
    by_classroom: "classroom",
    by_nbgrader: "nbgrader",
    by_folders: "folders",
}


def test_every_layout_is_drawn() -> None:
    assert {*LAYOUTS} == {*NAMERS.values()}


def person(each: Drawn) -> RosterPerson:
    systems: tuple[Key, ...] = ("canvas", "moodle", "brightspace", "sid")
    keys: dict[Key, str] = dict.fromkeys(systems, str(each.number))
    return RosterPerson(f"id{each.number}", each.name, {**keys, "login": each.login})


def holds(
    handed_in: list[Drawn], namer: Namer, container: str, known: set[int], *, by_name: bool
) -> None:
    """Collect a class, and look where everybody's files are."""
    people = [person(each) for each in handed_in if each.number in known]
    if by_name:
        people = [RosterPerson(each.id, each.name, {}) for each in people]
    roster = Roster([*people, RosterPerson("idle", "Ida Lee", {"canvas": "5", "moodle": "5"})])
    named = {each.number: namer(each) for each in handed_in}
    with tempfile.TemporaryDirectory() as place:
        archive, output = Path(place, f"a.{container}"), Path(place, "class")
        files = {name: content for each in named.values() for name, content in each.items()}
        if namer is by_gradescope:
            files |= metadata_of_gradescope(handed_in)
        archive.write_bytes(CONTAINERS[container](files))
        outcome = collect(archive, output, roster)
        students = outcome.collected.students
        told = reasons(outcome)
        rows: dict[int, list[str]] = {}
        for student in students:
            text = "".join(contents(output, student))
            markers = {int(each) for each in re.findall(r"whose:(\d+):", text)}
            assert len(markers) <= 1, (student.folder, markers)
            for number in markers:
                rows.setdefault(number, []).append(student.folder)
                assert student.id in ("", f"id{number}"), (student, markers)
                files_of = next(each.files for each in handed_in if each.number == number)
                lost = lost_files(files_of, text)
                assert lost <= len(told), (student.folder, lost, told)
        assert all(len(each) == 1 for each in rows.values()), rows
        for each in handed_in:
            if each.number not in rows:  # nothing of it could be unpacked, or it is nobody's
                tops = {name.replace("\\", "/").split("/")[0] for name in named[each.number]}
                has_row = any(str(each.number) in f"{e.folder}{e.keys}" for e in students)
                has_reason = any(top[:200] in line for line in told for top in tops)
                assert has_row or has_reason, (each, told)


def lost_files(files: dict[str, bytes], text: str) -> int:
    """Return how many of a student's own files, of which no two are alike, are not in the text."""
    wanted = re.findall(r"whose:\d+:file:\d+:", b"".join(files.values()).decode(errors="ignore"))
    return sum(each not in text for each in wanted)


DRAWN = (classes(), st.sampled_from([*NAMERS]), st.sampled_from([*CONTAINERS]), st.data())


@given(*DRAWN)
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
def test_no_file_reaches_another_and_everybody_has_a_row_or_a_reason(
    handed_in: list[Drawn], namer: Namer, container: str, data: st.DataObject
) -> None:
    known = data.draw(st.sets(st.sampled_from([each.number for each in handed_in])))
    holds(handed_in, namer, container, known, by_name=data.draw(st.booleans()))


@pytest.mark.slow
@given(*DRAWN)
@settings(max_examples=500, deadline=None, suppress_health_check=list(HealthCheck))
def test_so_it_is_in_many_classes(
    handed_in: list[Drawn], namer: Namer, container: str, data: st.DataObject
) -> None:
    known = data.draw(st.sets(st.sampled_from([each.number for each in handed_in])))
    holds(handed_in, namer, container, known, by_name=data.draw(st.booleans()))
