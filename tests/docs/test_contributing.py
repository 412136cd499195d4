"""CONTRIBUTING.md, word for word: its files are written and its commands run, in a copy."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.pages import Follower, Step, steps_of
from tests.users import need_boxes

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
TOUR = PAGE.partition("\n## The ten-minute tour\n")[2].partition("\n## ")[0]
COPIED = ("grader", "tests", "docs", "tools")
UNCHANGED = ("assignments", "reference")
MANY = ("cells", "environment", "escapes", "externs", "answers", "autograders", "habits")
"""Folders of tests with many files that no recipe needs."""

SECONDS = 120

OPENED = """
from grader.sandbox.choose import choose_sandbox
with choose_sandbox("tight") as sandbox:
    assert sandbox.level == "tight", sandbox.level
"""


def steps(title: str) -> list[Step]:
    """Return what a recipe has one do."""
    return steps_of(PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0])


class Newcomer(Follower):
    """Does what the page says, in a copy of the repository."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        skip = shutil.ignore_patterns("__pycache__", *MANY)
        for name in COPIED:
            shutil.copytree(ROOT / name, folder / name, ignore=skip, symlinks=True)
        for name in UNCHANGED:
            (folder / name).symlink_to(ROOT / name)
        for name in ("pyproject.toml", "Makefile", "README.md"):
            shutil.copy(ROOT / name, folder)

    def follow(self, title: str) -> None:
        for step in steps(title):
            self.take(step)

    def write(self, path: Path, text: str) -> None:
        assert not path.exists()
        super().write(path, text)

    def replace(self, path: Path, old: str, new: str) -> None:
        if path.name == "Makefile":  # a part of a line
            old, new = old.rstrip("\n"), new.rstrip("\n")
        super().replace(path, old, new)

    def run(self, line: str) -> None:
        words = shlex.split(line)
        variables = dict(word.split("=") for word in words if re.match(r"[A-Z_]+=", word))
        program, *arguments = words[len(variables) :]
        name = program.removeprefix(".venv/bin/")
        assert name in {"python", "grader"}
        done = subprocess.run(
            [str(Path(sys.executable).with_name(name)), *arguments],
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            env={**os.environ, "PYTHONPATH": str(self.folder), **variables},
        )
        assert 0 == done.returncode, done.stdout + done.stderr

    def read(self, name: str) -> str:
        return (self.folder / name).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def newcomer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Newcomer]:
    """Who does all of it in one copy: no recipe touches what another one changes."""
    folder = tmp_path_factory.mktemp("copy")
    yield Newcomer(folder)
    shutil.rmtree(folder)  # which pytest would keep of the last three runs


def test_a_check_that_is_added_is_tried_and_listed_for_translation(newcomer: Newcomer) -> None:
    newcomer.follow("A check")
    assert '"check-few-functions": "The module has few TIR functions",' in newcomer.read(
        "grader/words/en.json"
    )
    assert all(
        '"check-few-functions": "",' in newcomer.read(f"grader/words/{each}.json")
        for each in ("zh", "ko")
    )


def test_the_kind_of_evidence_that_is_the_example_passes_its_tests(newcomer: Newcomer) -> None:
    newcomer.follow("A kind of evidence")


def test_a_row_of_the_table_migrates_a_file_and_is_on_the_page(newcomer: Newcomer) -> None:
    newcomer.follow("A row of the dialect table")
    assert 'target = tvm.target.Target("llvm")' in newcomer.read("new.py")
    assert "| target-create | `tvm.target.create` |" in newcomer.read("docs/dialects.md")


def test_a_renderer_passes_the_tests_of_all_formats(newcomer: Newcomer) -> None:
    newcomer.follow("A renderer")


def test_a_level_of_isolation_is_tried_out(newcomer: Newcomer) -> None:
    need_boxes()
    newcomer.follow("A level of isolation")
    newcomer.run(f".venv/bin/python -c '{OPENED}'")


def test_a_language_gets_a_message_file(newcomer: Newcomer) -> None:
    newcomer.follow("A language")
    assert '"points": ""' in newcomer.read("grader/words/de.json")


def test_the_tour_comes_by_files_that_are_there() -> None:
    named = re.findall(r"`(grader/[^`]*)`", TOUR)
    assert named
    assert [] == [path for path in named if not (ROOT / path).exists()]
