"""The wheel in an environment where nothing else of this project is, as a recipe installs it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from grader.ci.recipes import Choices, github_files, write_new
from grader.ci.wheel import read_wheel
from grader.language import foreign
from grader.report import decode_report
from tests.ci.repository import Repository
from tests.ci.services import GitHub, Outcome
from tests.ci.wheels import ROOT, build, make_environment, scratch
from tests.cli.test_batch import COURSE, RIGHT
from tests.users import with_open_interpreter

pytestmark = pytest.mark.graded


class Installed:
    """A scratch clone, its recipe, and the environment that this one made on a runner."""

    def __init__(self, home: Path, folder: Path) -> None:
        self.repository = Repository(folder)
        self.repository.add_course()
        self.repository.hand_in("submissions/ada.ipynb", RIGHT)
        files = github_files(Choices(self.repository.path, build()))
        write_new({self.repository.path / name: text for name, text in files.items()}, force=False)
        self.repository.commit()
        workflow = (self.repository.path / ".github/workflows/grade.yml").read_text()
        (found,) = re.findall(r"environment=\$HOME/(\S+)", workflow)
        self.environment = home / found
        self.environment.parent.mkdir()
        make_environment(self.environment)
        self.service = GitHub(self.repository, folder / "runner", home)

    def job(self) -> Outcome:
        """Run the job for a push of everything."""
        return self.service.run({"before": ""})

    def run(self, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a program of the environment in a folder."""
        program = str(self.environment / "bin" / words[0])
        return subprocess.run(
            with_open_interpreter([program, *words[1:]]),
            cwd=folder,
            env={**os.environ, "GRADER_DATA": "builtin"},
            capture_output=True,
            text=True,
            timeout=300,
        )


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installed]:
    """The environment before anything is installed."""
    with scratch() as home:
        yield Installed(home, tmp_path_factory.mktemp("installed"))


class FirstJob(NamedTuple):
    """What an import of the grader said before the recipe's first job, and what came of that."""

    said_before: str
    outcome: Outcome


@pytest.fixture(scope="module")
def first_job(installed: Installed) -> FirstJob:
    """The job that installs the wheel, which every test of what is installed needs."""
    before = installed.run(Path("/"), "python", "-c", "import grader")
    return FirstJob(before.stderr, installed.job())


def test_a_recipe_installs_the_wheel_that_was_built_and_grades_with_it(
    installed: Installed, first_job: FirstJob
) -> None:
    assert "No module named 'grader'" in first_job.said_before
    outcome = first_job.outcome
    assert outcome.succeeded, outcome.log
    assert "**10 of 10 points**" in outcome.summary
    after = installed.run(Path("/"), "python", "-c", "import grader; print(grader.__file__)")
    assert after.stdout.startswith(str(installed.environment))


def test_a_wheel_that_was_changed_is_not_installed(tmp_path: Path, installed: Installed) -> None:
    lock = tmp_path / "lock"
    shutil.copytree(installed.repository.path / ".grader", lock)
    with zipfile.ZipFile(lock / build().name, "a") as wheel:
        wheel.writestr("grader/more.py", "")
    done = installed.run(
        lock, "pip", "install", "--no-deps", "--require-hashes", "-r", "requirements.txt"
    )
    assert 0 != done.returncode
    assert "THESE PACKAGES DO NOT MATCH THE HASHES" in done.stderr


@pytest.mark.usefixtures("first_job")
def test_it_grades_a_course_in_a_folder_that_is_no_checkout(
    tmp_path: Path, installed: Installed
) -> None:
    """Schemas, filters, catalogues, templates and the built-in data are all in the wheel."""
    course = tmp_path / "course"
    shutil.copytree(ROOT / "assignments", course / "assignments")
    shutil.copy(ROOT / "examples/e2e-mlp/reference.ipynb", tmp_path / "hw.ipynb")
    options = ("--course", "course", "--lang", "ko", "--json", "report.json", "--html", "page.html")
    done = installed.run(tmp_path, "grader", "run", "hw.ipynb", *options)
    assert 0 == done.returncode, done.stderr
    report = decode_report((tmp_path / "report.json").read_bytes())
    assert (100, 100) == (report.score, report.max_score)
    assert re.search("[가-힣]", (tmp_path / "page.html").read_text())


@pytest.mark.usefixtures("first_job")
def test_it_migrates_by_its_table(tmp_path: Path, installed: Installed) -> None:
    (tmp_path / "old.py").write_text("import tvm\nx = tvm.tir.IntImm('int32', 1)\n")
    done = installed.run(tmp_path, "grader", "migrate", "old.py", "--diff")
    assert "tirx" in done.stdout, done.stderr


@pytest.mark.usefixtures("first_job")
def test_what_is_installed_writes_recipes_with_its_own_wheel(
    tmp_path: Path, installed: Installed
) -> None:
    shutil.copytree(COURSE / "assignments/trio", tmp_path / "assignments/trio")
    settings = tmp_path / "assignments/trio/assignment.toml"
    settings.write_text(settings.read_text().replace('minimum = "none"', 'minimum = "minimal"'))
    done = installed.run(tmp_path, "grader", "ci", "init", "gradescope")
    assert 0 == done.returncode, done.stderr
    with zipfile.ZipFile(tmp_path / "autograder.zip") as archive:
        archive.extract(build().name, tmp_path)
    assert build().name == read_wheel(tmp_path / build().name).name


@pytest.mark.usefixtures("first_job")
@pytest.mark.skipif(
    sys.version_info < (3, 11), reason=foreign("constraints.txt leaves it to pip there")
)
def test_everything_that_is_locked_is_what_the_tests_run_with(installed: Installed) -> None:
    """So what the recipes install is what is tested: pip had nothing to fetch."""
    options = ("--dry-run", "--no-index", "--no-deps", "--require-hashes")
    done = installed.run(
        installed.repository.path / ".grader", "pip", "install", *options, "-r", "requirements.txt"
    )
    assert 0 == done.returncode, done.stderr
    assert [] == [line for line in done.stdout.splitlines() if line.startswith("Would install")]
