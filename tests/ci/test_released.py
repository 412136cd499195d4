"""The recipe for GitHub in a repository of students: a release, with its secret and without."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.ci.recipes import Choices, github_files, write_new
from grader.course import load_course
from grader.release.secret import digest_of, pack_course
from grader.release.write import release_files, write_release
from tests.ci.repository import Repository
from tests.ci.services import GitHub, Outcome
from tests.ci.wheels import STUB
from tests.cli.test_batch import MODEL, PREPARATION, WRONG
from tests.release.server import serving

HIDDEN_PART = """
[[part]]
id = "twice"
title = "The layer, looked at once more"
hidden = true
entry_kind = "function"
entry = ["create_model"]

[[part.check]]
id = "equivalence"
kind = "equivalence"
points = 5
"""

DOCTOR = "Prepare the sandbox"
"""The step that looks what a machine offers, for some seconds: the same with a release and without,
in test_steps.
"""

ODD = 'submissions/bob/%0A::error::it\'s\n::error::harm "$(touch harm)".ipynb'


class Class:
    """A course with a hidden part and a master; its release in a scratch clone; two hand-ins.

    Ada's notebook has the course's own solution.
    """

    def __init__(self, folder: Path) -> None:
        course = folder / "course"
        (folder / "work").mkdir()
        made = Repository(folder / "work")
        made.add_course()
        (made.path / "assignments").rename(made.path.parent / "assignments")
        course.mkdir()
        (made.path.parent / "assignments").rename(course / "assignments")
        settings = course / "assignments/small/assignment.toml"
        text = settings.read_text().replace("points = 10", "points = 15")
        settings.write_text(text + HIDDEN_PART)
        (course / "reference").mkdir()
        (course / "reference/small.py").write_text(master())
        loaded = load_course(course)
        self.repository, self.secret = made, pack_course(loaded)
        write_release(made.path, release_files(loaded, STUB, digest_of(self.secret)), loaded)
        files = github_files(Choices(made.path, STUB))
        write_new({made.path / name: content for name, content in files.items()}, force=False)
        made.commit()
        made.push()

    def hand_in(self, name: str, sources: tuple[str, ...]) -> None:
        self.repository.hand_in(name, sources)
        self.repository.commit()

    def job(self, folder: Path, **secrets: str) -> Outcome:
        """Run the job for the push that hands in."""
        self.service = GitHub(self.repository, folder / "runner")
        self.service.secrets = secrets
        event = {"before": self.repository.git("rev-parse", "HEAD~1")}
        return self.service.run(event, without=DOCTOR)


def master() -> str:
    """Return a master whose solution is the right model, one line of it aside."""
    lines = MODEL.format(function="topi.nn.relu").strip().split("\n")
    solution = ["    ### BEGIN SOLUTION", *lines[1:], "    ### END SOLUTION"]
    return "\n".join(["# %%", PREPARATION.strip(), "", "# %%", lines[0], *solution, ""])


SOLVED = (PREPARATION, MODEL.format(function="topi.nn.relu"))


@pytest.fixture
def students(tmp_path: Path) -> Class:
    return Class(tmp_path)


@pytest.mark.graded
def test_without_the_secret_what_is_public_is_graded_and_solutions_are_told(
    students: Class, tmp_path: Path
) -> None:
    students.hand_in(ODD, SOLVED)
    outcome = students.job(tmp_path)
    assert outcome.succeeded, outcome.log
    assert "no secret GRADER_SECRET_URL" in outcome.summary
    assert "**10 of 10 points**" in outcome.summary
    assert "hidden parts, worth 5 points" in outcome.summary
    (warning,) = (line for line in outcome.log.splitlines() if line.startswith("::warning::"))
    assert warning.endswith("code cell 2: a solution of the course.")
    assert "%250A" in warning
    assert "\n::error::" not in f"\n{outcome.log}"
    assert [] == list(students.repository.path.rglob("harm"))


@pytest.mark.graded
def test_with_the_secret_everything_is_graded(students: Class, tmp_path: Path) -> None:
    students.hand_in("submissions/ada/hw.ipynb", WRONG)
    with serving(students.secret, "t") as address:
        secrets = {"GRADER_SECRET_URL": f"{address}/hush", "GRADER_SECRET_TOKEN": "t"}
        outcome = students.job(tmp_path, **secrets)
    assert outcome.succeeded, outcome.log
    assert "**4 of 15 points**" in outcome.summary
    assert "Not graded here" not in outcome.summary
    assert "::warning::" not in outcome.log
    assert "hush" not in outcome.log + outcome.summary


def test_a_secret_that_was_changed_is_not_opened(students: Class, tmp_path: Path) -> None:
    students.hand_in("submissions/ada/hw.ipynb", WRONG)
    with serving(students.secret + b"\n") as address:
        outcome = students.job(tmp_path, GRADER_SECRET_URL=f"{address}/hush")
    assert not outcome.succeeded
    assert "::error::The complete course could not be fetched.\n" in outcome.log
    assert "| grader: The archive of the complete course has a different SHA-256" in outcome.log
    assert "points" not in outcome.summary
    assert "hush" not in outcome.log + outcome.summary
    assert not (students.service.temporary / "course").exists()
