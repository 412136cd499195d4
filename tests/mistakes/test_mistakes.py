"""Every mistake of an instructor's is named: file, line and remedy, by `lint` and by `verify`.

A file of a folder beside this one is one mistake, made in a new assignment (README.md).
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, get_args

import msgspec
import pytest
from rich.console import Console

from grader.authoring.mistakes import find_mistakes
from grader.authoring.skeleton import make_assignment
from grader.authoring.verify_assignment import VerifyChoices
from grader.cli.verify import run_lint, run_verify
from grader.course import load_course
from grader.errors import CourseError, Mistake, MistakeCode, MistakeError
from grader.evidence import registry
from grader.grading.preparation import GradingOptions

FOLDER = Path(__file__).parent
GRADER = Path(sys.executable).with_name("grader")
LEAST = 75
"""So many there are at least: a folder that is not found must not look like success."""

RIGHT_WORKLOAD = "torch.matmul(double(a), double(b)).numpy()"

UNSEEN = {"not_run"}
"""Codes that need another machine: without the data an oracle is not run."""

IMPORTER = """
[[computation]]
id = "net"
model = "small"
cases = 4
arguments = [{ shape = [4, 8] }]
outputs = [{ shape = [4, 6] }]

[[part]]
id = "import"
title = "An importer"
entry_kind = "importer"
entry = ["from_fx"]
computation = "net"

[[part.check]]
id = "equivalence"
kind = "equivalence"
"""


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pass


class Change(Table, frozen=True):
    file: str
    find: str = ""
    replace: str = ""
    write: str = ""
    remove: bool = False


class Made(Table, frozen=True, rename={"extra": "with"}):
    """A mistake. `at` is in the line that must be named; none is where there is no `at`."""

    about: str
    code: MistakeCode
    file: str
    says: str
    change: tuple[Change, ...]
    at: str = ""
    hint: str = ""
    severity: Literal["error", "warning"] = "error"
    extra: Literal["importer", ""] = ""


PATHS = sorted(FOLDER.glob("*/*.toml"))
MADE = {
    f"{path.parent.name}/{path.stem}": msgspec.toml.decode(path.read_bytes(), type=Made)
    for path in PATHS
}

ONE_OF_EACH = {name.split("/")[0]: name for name, made in MADE.items() if "error" == made.severity}


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of a new assignment by their paths in the course."""
    root = tmp_path_factory.mktemp("sound")
    made = make_assignment(root, "layer", ["en"])
    return {str(path.relative_to(root)): path.read_bytes() for path in made}


@pytest.fixture(autouse=True)
def own_kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kinds of checks that a course brings along are gone after the test."""
    monkeypatch.setattr(registry, "_KINDS", dict(registry._KINDS))


def write(root: Path, sound: dict[str, bytes], made: Made) -> None:
    """Write the assignment with a mistake into a folder."""
    files = {name: content.decode() for name, content in sound.items()}
    if made.extra:
        files["assignments/layer/assignment.toml"] += IMPORTER
        files["assignments/layer/models.py"] = ""
    for each in made.change:
        if each.remove:
            del files[each.file]
        elif each.write:
            files[each.file] = each.write
        else:
            assert 1 == files[each.file].count(each.find), each
            files[each.file] = files[each.file].replace(each.find, each.replace)
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def found_in(root: Path) -> list[Mistake]:
    try:
        course = load_course(root)
    except MistakeError as error:
        return [error.mistake]
    return find_mistakes(course.get("layer"), root)


def lines_with(root: Path, made: Made) -> Iterator[int]:
    text = (root / made.file).read_text(encoding="utf-8")
    return (n for n, line in enumerate(text.splitlines(), 1) if made.at in line)


@pytest.mark.parametrize("name", MADE)
def test_a_mistake_is_named_with_its_line_and_remedy(
    tmp_path: Path, sound: dict[str, bytes], name: str
) -> None:
    made = MADE[name]
    write(tmp_path, sound, made)
    first = found_in(tmp_path)[0]
    assert (made.code, made.severity) == (first.code, first.severity)
    assert tmp_path / made.file == first.path
    assert made.says in first.problem.english
    assert made.hint in first.hint.english
    assert first.hint
    if made.at:
        assert first.line in lines_with(tmp_path, made)
    else:
        assert first.line is None


def test_a_fault_of_the_master_is_not_one_of_its_mutants(
    tmp_path: Path, sound: dict[str, bytes]
) -> None:
    """mutants.toml was named for a mark that is misspelt in reference/layer.py."""
    text = sound["reference/layer.py"].decode()
    text = text.replace("### BEGIN SOLUTION", "### BEGIN SOLUTIONS")
    made = Change("reference/layer.py", write=text)
    write(tmp_path, sound, Made("", "mutant", "", "", (made,)))
    assert [] == found_in(tmp_path)
    said = io.StringIO()
    assert not run_lint(None, tmp_path, Console(file=said), Console(file=said))
    errors = [each for each in said.getvalue().splitlines() if ": error: " in each]
    assert errors
    assert all("layer.py:" in each for each in errors)


@pytest.mark.parametrize("name", ONE_OF_EACH.values())
def test_nothing_is_verified_before_it_is_mended(
    tmp_path: Path, sound: dict[str, bytes], name: str
) -> None:
    """`verify` says what `lint` says: both are asked of the same files."""
    write(tmp_path, sound, MADE[name])
    said, told = io.StringIO(), io.StringIO()
    assert not run_lint(None, tmp_path, Console(file=said), Console(file=said))
    grading, choices = GradingOptions(course=tmp_path), VerifyChoices(timed=False)
    with pytest.raises(CourseError) as caught:
        run_verify("layer", grading, choices, None, Console(file=told), Console(file=told))
    place = next(line for line in said.getvalue().splitlines() if ": error: " in line)
    assert place.startswith(MADE[name].file)
    assert place in told.getvalue() or place.split(": error: ")[1] in str(caught.value)
    assert caught.value.hint


@pytest.mark.parametrize("name", ONE_OF_EACH.values())
def test_nothing_is_started_to_find_one(
    tmp_path: Path, sound: dict[str, bytes], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Processes take seconds; `benchmarks/course_mistakes.py` prints what all of this takes."""
    write(tmp_path, sound, MADE[name])

    def refused(*_arguments: object, **_options: object) -> None:
        raise AssertionError("a process was started")

    for owner, attribute in ((subprocess, "Popen"), (os, "fork"), (os, "posix_spawn")):
        monkeypatch.setattr(owner, attribute, refused)
    assert found_in(tmp_path)


def test_a_sound_assignment_has_none(tmp_path: Path, sound: dict[str, bytes]) -> None:
    for each in ("", "importer"):
        extra = Change("assignments/layer/models.py", write=RIGHT_MODELS)
        made = Made("", "raises", "", "", (extra,) if each else (), extra=each)
        write(tmp_path / f"course{each}", sound, made)
        assert [] == found_in(tmp_path / f"course{each}")


def test_two_checks_may_ask_for_other_numbers_of_what_is_drawn_once(
    tmp_path: Path, sound: dict[str, bytes]
) -> None:
    """It was an error that the first two of 16 programs have points of their own."""
    speed = """
[[part.check]]
id = "speed"
kind = "speed"
points = 10
options = { operations = 256, full_at = 0.8, grid = 0.5, threads = 1 }
"""
    spaces = "".join(
        f"""
[[part.check]]
id = "space_{different}"
kind = "search_space"
points = 5
options = {{ different = {different} }}
"""
        for different in (2, 6)
    )
    change = Change("assignments/layer/assignment.toml", find=speed, replace=spaces)
    write(tmp_path, sound, Made("", "part", "", "", (change,)))
    assert [] == [each for each in found_in(tmp_path) if "in check" in each.problem.english]


RIGHT_MODELS = """
from torch import nn


def small(seed):
    return nn.Linear(8, 6)


MODELS = {"small": small}
"""


def test_the_command_names_the_line_and_ends_with_1(
    tmp_path: Path, sound: dict[str, bytes]
) -> None:
    write(tmp_path, sound, MADE["checks/without_options"])
    done = subprocess.run(
        [str(GRADER), "lint", "layer"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert 1 == done.returncode, done.stderr
    assert "assignments/layer/checks.py:4: error: @check('mine')" in done.stdout
    assert "    Write `@check" in done.stdout


def test_every_mistake_has_a_file() -> None:
    assert LEAST <= len(MADE)
    assert set(get_args(MistakeCode)) == {each.code for each in MADE.values()} | UNSEEN


@pytest.mark.parametrize(("factor", "codes"), [("1", []), ("1.001", ["differs"])])
def test_a_workload_may_be_in_single_precision_but_not_less_exact(
    tmp_path: Path, sound: dict[str, bytes], factor: str, codes: list[str]
) -> None:
    """Its sums have a hundred products: it differs by more than doubles do."""
    single = f"({factor} * torch.matmul(torch.tensor(a), torch.tensor(b))).numpy()"
    change = Change("assignments/layer/oracle.py", RIGHT_WORKLOAD, single)
    made = Made("", "differs", "assignments/layer/oracle.py", "", (change,))
    write(tmp_path, sound, made)
    assert codes == [each.code for each in found_in(tmp_path)]
