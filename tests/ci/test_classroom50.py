"""The autograder for Classroom 50, run as its runner runs it: in a student's repository."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from grader.ci.recipes import AUTOGRADER, Choices, classroom50_files
from grader.ci.wheel import Checkout
from grader.errors import CourseError, UsageError
from grader.report import encode_report
from tests import sample_reports
from tests.ci.repository import Repository, write_notebook
from tests.ci.services import ENVIRONMENT
from tests.ci.wheels import STUB
from tests.cli.test_batch import RIGHT, WRONG

IDENTITY = {
    "CLASSROOM": "mlc-fall-2026",
    "ASSIGNMENT": "small",
    "ASSIGNMENT_TYPE": "individual",
    "OWNER": "ada-ob",
    "USERNAME": "ada-ob",
    "SUBMISSION_TAG": "submit/2026-11-28T10-00-00Z-a1b2c3d",
    "COMMIT_URL": "https://github.com/u/r/commit/a1b2c3d",
    "RELEASE_URL": "https://github.com/u/r/releases/tag/x",
    "REVIEW_URL": "https://github.com/u/r/compare/0...a1b2c3d",
}
"""What the runner says of a submission."""


class Specified(msgspec.Struct, rename={"max_score": "max-score"}, forbid_unknown_fields=True):
    """The fields that result-v1.schema.json allows; all of them but the last two are required."""

    schema: str
    classroom: str
    assignment: str
    assignment_type: str
    owner: str
    submission: str
    commit: str
    release: str
    review: str
    datetime: str
    score: int
    max_score: int
    tests: list[dict[str, Any]]
    graded_at: str | None = None
    submitted_by: dict[str, Any] | None = None


@pytest.fixture
def released(tmp_path: Path) -> Choices:
    """Choices for a folder that is a release of the small course."""
    repository = Repository(tmp_path)
    repository.add_course()
    repository.write("release.json")
    return Choices(repository.path, STUB)


def fake_environment(folder: Path) -> Path:
    """An environment whose grader says what the sample says, and notes how it was called."""
    report = folder / "sample.json"
    report.write_bytes(encode_report(sample_reports.typical()))
    program = folder / "bin/grader"
    program.parent.mkdir(parents=True)
    program.write_text(
        f"""#!{sys.executable} -I
import os, shutil, subprocess, sys
with open({str(folder / "called")!r}, "a") as file:
    print(*sys.argv[1:], sep="\\n", file=file)
if sys.argv[1] == "run":
    print("secret seed")
    shutil.copy({str(report)!r}, sys.argv[sys.argv.index("--json") + 1])
else:
    os.execv({str(ENVIRONMENT / "bin/grader")!r}, ["grader", *sys.argv[1:]])
"""
    )
    program.chmod(0o755)
    return folder


class Student:
    """A student's repository, and the bundle beside it."""

    def __init__(self, folder: Path, choices: Choices, environment: Path) -> None:
        self.checkout, self._bundle = folder / "checkout", folder / "bundle"
        self.checkout.mkdir()
        for name, content in classroom50_files(choices).items():
            path = self._bundle / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        self._environment = environment

    def submit(self, seconds: float = 60) -> tuple[Specified | None, str]:
        """Return what result.json says as its schema reads it, None for an error, and the log."""
        done = subprocess.run(
            [sys.executable, str(self._bundle / AUTOGRADER)],
            cwd=self.checkout,
            env={**os.environ, **IDENTITY, "GRADER_ENVIRONMENT": str(self._environment)},
            capture_output=True,
            text=True,
            timeout=seconds,
        )
        if done.returncode:
            return None, done.stdout + done.stderr
        content = (self.checkout / "result.json").read_bytes()
        return msgspec.json.decode(content, type=Specified, strict=True), done.stdout + done.stderr


@pytest.fixture
def student(tmp_path: Path, released: Choices) -> Student:
    """A student whose submissions a stand-in of the grader grades."""
    (tmp_path / "environment").mkdir()
    return Student(tmp_path, released, fake_environment(tmp_path / "environment"))


class TestBundle:
    """What is in it, and what it is refused for."""

    def test_it_holds_the_release_and_what_pip_installs(self, released: Choices) -> None:
        assert {
            "autograder.py",
            "requirements.txt",
            "torch.txt",
            STUB.name,
            "course/release.json",
            "course/assignments/small/assignment.toml",
            "course/assignments/small/oracle.py",
        } == {path.as_posix() for path in classroom50_files(released)}

    def test_a_course_with_its_solutions_is_refused(self, released: Choices) -> None:
        """Bundles are published: everybody on the internet can read one."""
        (released.directory / "release.json").unlink()
        with pytest.raises(UsageError, match="not a release"):
            classroom50_files(released)

    def test_no_submission_is_run_beside_it_without_isolation(self, released: Choices) -> None:
        settings = released.directory / "assignments/small/assignment.toml"
        settings.write_text(settings.read_text().replace('"minimal"', '"none"'))
        with pytest.raises(CourseError, match="could read the oracle"):
            classroom50_files(released)

    def test_a_folder_cannot_be_installed_there(self, released: Choices) -> None:
        choices = msgspec.structs.replace(released, install=Checkout("."))
        with pytest.raises(UsageError, match="cannot install the folder"):
            classroom50_files(choices)

    def test_it_is_python_without_blanks(self, released: Choices) -> None:
        script = classroom50_files(released)[AUTOGRADER].decode()
        compile(script, "autograder.py", "exec")
        assert "@@" not in script


class TestSubmission:
    """As the runner sees it."""

    def test_the_result_says_whose_it_is_and_has_all_points(self, student: Student) -> None:
        (student.checkout / "hw.ipynb").write_text("{}")
        result, log = student.submit()
        assert result is not None, log
        assert (7750, 10000) == (result.score, result.max_score)
        assert ("mlc-fall-2026", "small", "ada-ob", IDENTITY["SUBMISSION_TAG"]) == (
            result.classroom,
            result.assignment,
            result.owner,
            result.submission,
        )
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", result.datetime)
        assert "77.5 of 100" in (student.checkout / "release-body.md").read_text()

    def test_what_instructors_see_is_not_in_the_log(self, student: Student) -> None:
        """Students read the logs of their repositories."""
        (student.checkout / "hw.ipynb").write_text("{}")
        assert "secret seed" not in student.submit()[1]

    @pytest.mark.parametrize(
        "names",
        [
            [],
            ["a.ipynb", "b/C.IPYNB"],
            [".ipynb_checkpoints/hw.ipynb", "._hw.ipynb", ".git/x.ipynb"],
        ],
        ids=["none", "two", "left behind"],
    )
    def test_it_must_be_one_notebook(self, student: Student, names: list[str]) -> None:
        for name in names:
            (student.checkout / name).parent.mkdir(exist_ok=True)
            (student.checkout / name).write_text("{}")
        result, log = student.submit()
        assert result is not None, log
        (test,) = result.tests
        assert not test["passed"] and "exactly one" in test["message"]

    def test_links_of_a_submission_are_not_followed(self, student: Student, tmp_path: Path) -> None:
        kept = tmp_path / "kept"
        kept.write_text("mine")
        (student.checkout / "result.json").symlink_to(kept)
        (student.checkout / "release-body.md").symlink_to(kept)
        (student.checkout / "linked.ipynb").symlink_to(kept)
        result, log = student.submit()
        assert result is not None, log
        assert ("mine", 0) == (kept.read_text(), result.max_score)

    def test_nothing_of_a_submission_is_imported(self, student: Student) -> None:
        for name in ("json", "tempfile", "sitecustomize", "grader"):
            (student.checkout / f"{name}.py").write_text("raise SystemExit('harm')")
        (student.checkout / "hw.ipynb").write_text("{}")
        result, log = student.submit()
        assert result is not None and "harm" not in log

    def test_a_failure_of_the_grader_is_an_error_and_no_result(
        self, student: Student, tmp_path: Path
    ) -> None:
        """Classroom 50 then keeps the result before, and no 0 counts."""
        (student.checkout / "hw.ipynb").write_text("{}")
        (tmp_path / "environment/bin/grader").write_text(f"#!{sys.executable}\nraise SystemExit(3)")
        result, log = student.submit()
        assert result is None
        assert "::error::The grader failed" in log


class TestGrading:
    """With the grader of the tests' own environment."""

    def test_a_right_and_a_wrong_notebook(self, tmp_path: Path, released: Choices) -> None:
        student = Student(tmp_path, released, ENVIRONMENT)
        scores = []
        for sources in (RIGHT, WRONG):
            write_notebook(student.checkout / "hw.ipynb", sources)
            result, log = student.submit(seconds=300)
            assert result is not None, log
            scores.append(result.score)
        assert scores[0] == 1000 and scores[1] < 1000
        assert json.loads((student.checkout / "result.json").read_text())["tests"]
