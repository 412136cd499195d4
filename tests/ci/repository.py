"""A scratch repository with a course, its remote, and notebooks to hand in."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import nbformat

from tests.cli.test_batch import COURSE

BRANCH = "main"


class Repository:
    """A clone in `path` of a bare repository beside it, as a service's runner has one."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.home.mkdir()
        self.path = folder / "repository"
        self.git("init", "--quiet", "--bare", "-b", BRANCH, str(folder / "remote"), at=folder)
        self.git("clone", "--quiet", str(folder / "remote"), str(self.path), at=folder)
        self.git("checkout", "--quiet", "-B", BRANCH)

    def git(self, *words: str, at: Path | None = None) -> str:
        names = ("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL")
        done = subprocess.run(
            ["git", *words],
            cwd=at or self.path,
            env={**os.environ, **dict.fromkeys(names, "x"), "HOME": str(self.home)},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.strip()

    def add_course(self) -> None:
        """Have the small course of the tests, with one assignment, for graders that are root."""
        target = self.path / "assignments/small"
        shutil.copytree(COURSE / "assignments/small", target)
        settings = target / "assignment.toml"
        text = settings.read_text()
        settings.write_text(text.replace('minimum = "none"', 'minimum = "minimal"'))
        assert text != settings.read_text()

    def hide(self, check: str) -> None:
        """Keep a check of the assignment from students."""
        settings = self.path / "assignments/small/assignment.toml"
        text = settings.read_text()
        line = f'id = "{check}"\n'
        settings.write_text(text.replace(line, f'{line}visibility = "hidden"\n'))
        assert text != settings.read_text()

    def write(self, name: str, content: str = "{}") -> None:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)

    def hand_in(self, name: str, sources: tuple[str, ...]) -> None:
        """Write a notebook of the small assignment."""
        write_notebook(self.path / name, sources)

    def commit(self) -> str:
        """Commit everything and return the new commit."""
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "x")
        return self.head()

    def push(self, branch: str = BRANCH) -> None:
        self.git("push", "--quiet", "--force", "origin", f"HEAD:{branch}")
        self.git("fetch", "--quiet", "--prune", "origin")

    def head(self) -> str:
        return self.git("rev-parse", "HEAD")


def write_notebook(path: Path, sources: tuple[str, ...]) -> None:
    """Write a notebook of code cells that says that it is the small assignment."""
    path.parent.mkdir(parents=True, exist_ok=True)
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(source) for source in sources],
        metadata={"grader": {"assignment": "small", "version": 1}},
    )
    nbformat.write(notebook, path)
