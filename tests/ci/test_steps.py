"""Whole jobs: the commands of the recipes, in order, with the real grader in a scratch clone."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from grader.ci.recipes import Choices, github_files, gitlab_files, write_new
from tests.ci.repository import Repository
from tests.ci.services import ZEROS, GitHub, GitLab
from tests.ci.wheels import STUB
from tests.cli.test_batch import RIGHT, WRONG

HIDDEN = "The model is a graph"
ADA, BOB = 'submissions/ada/it\'s "$(touch harm)".ipynb', "submissions/bob/hw.ipynb"


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """A repository with the small course, a right notebook, and a push that adds a wrong one."""
    made = Repository(tmp_path)
    made.add_course()
    made.hide("structure")
    made.write("submissions/old.ipynb", "damaged, and not graded again")
    made.commit()
    made.push()
    made.hand_in(ADA, RIGHT)
    made.hand_in(BOB, WRONG)
    made.commit()
    return made


@pytest.mark.graded
class TestGitHub:
    """A push with two submissions, of 10 and of 4 points. Four points are for a hidden check."""

    def test_a_push_is_graded_told_and_fails_below_the_threshold(
        self, repository: Repository, tmp_path: Path
    ) -> None:
        choices = Choices(repository.path, STUB, assignment="small", threshold=5)
        files = github_files(choices)
        write_new({repository.path / path: text for path, text in files.items()}, force=False)
        service = GitHub(repository, tmp_path / "runner")
        outcome = service.run({"before": repository.git("rev-parse", "HEAD~1")})
        assert not outcome.succeeded
        assert "::error::A submission has fewer than 5 points.\n" in outcome.log
        assert "changed: 2.\n" in outcome.summary
        assert re.search(
            r"Isolation of submissions: \*\*(strong|container|basic|minimal)\*\*", outcome.summary
        )
        assert "**6 of 6 points**" in outcome.summary
        assert "**0 of 6 points**" in outcome.summary
        assert re.search(rf"^::error file={BOB},line=\d+,title=", outcome.log, re.MULTILINE)
        pages = service.temporary / "pages"
        assert 2 == len(list(pages.rglob("*.html")))
        shown = [outcome.log, outcome.summary, (pages / "submissions/bob/hw.html").read_text()]
        assert not any(HIDDEN in text for text in shown)
        assert HIDDEN in (service.temporary / "reports/submissions/bob/hw.json").read_text()
        assert [] == list(repository.path.rglob("harm"))
        assert "" == repository.git("status", "--porcelain", "--", "submissions")

    def test_without_a_change_nothing_is_installed_and_the_job_succeeds(
        self, repository: Repository, tmp_path: Path
    ) -> None:
        files = github_files(Choices(repository.path, STUB, assignment="small"))
        write_new({repository.path / path: text for path, text in files.items()}, force=False)
        outcome = GitHub(repository, tmp_path / "runner").run({"before": repository.head()})
        assert outcome.succeeded
        assert outcome.log == outcome.summary and outcome.log.endswith("changed: 0.\n")

    def test_what_cannot_be_graded_fails_the_job_and_is_told(
        self, repository: Repository, tmp_path: Path
    ) -> None:
        before = repository.head()
        repository.write("submissions/damaged.ipynb", "{")
        (repository.path / "submissions/link.ipynb").symlink_to("bob/hw.ipynb")
        repository.commit()
        files = github_files(Choices(repository.path, STUB, assignment="small"))
        write_new({repository.path / path: text for path, text in files.items()}, force=False)
        service = GitHub(repository, tmp_path / "runner")
        outcome = service.run({"before": before}, without="Prepare the sandbox")
        assert not outcome.succeeded
        assert "::error::A submission could not be graded: the summary says why.\n" in outcome.log
        assert "is a link." in outcome.summary
        assert re.search("^::error file=submissions/damaged.ipynb,", outcome.log, re.MULTILINE)

    def test_without_bubblewrap_the_summary_says_what_is_used_instead(
        self, repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("PATH", str(programs_but(tmp_path / "programs", "bwrap")))
        files = github_files(Choices(repository.path, STUB, assignment="small"))
        write_new({repository.path / path: text for path, text in files.items()}, force=False)
        service = GitHub(repository, tmp_path / "runner")
        event = {"before": repository.git("rev-parse", "HEAD~1")}
        outcome = service.run(event, until="Prepare the sandbox")
        assert outcome.succeeded, outcome.log
        assert "::warning::bubblewrap could not be installed.\n" in outcome.log
        assert "**strong**" not in outcome.summary
        assert "weaker than it can be" in outcome.summary
        assert "bwrap (bubblewrap) is not installed" in outcome.summary

    def test_a_course_that_is_not_there_fails_the_job_and_says_so(
        self, repository: Repository, tmp_path: Path
    ) -> None:
        files = github_files(Choices(repository.path, STUB))
        write_new({repository.path / path: text for path, text in files.items()}, force=False)
        workflow = repository.path / ".github/workflows/grade.yml"
        workflow.write_text(workflow.read_text().replace('COURSE: ""', 'COURSE: "nowhere"'))
        service = GitHub(repository, tmp_path / "runner")
        event = {"before": repository.git("rev-parse", "HEAD~1")}
        outcome = service.run(event, without="Prepare the sandbox")
        assert not outcome.succeeded
        assert "::error::Nothing could be graded.\n" in outcome.log
        assert "| grader: No assignment was found." in outcome.log


def programs_but(folder: Path, missing: str) -> Path:
    """Make a folder of links to all programs of the system but one."""
    folder.mkdir()
    for name in ("/usr/sbin", "/usr/bin"):
        for program in Path(name).iterdir():
            link = folder / program.name
            if program.name != missing and not link.is_symlink():
                link.symlink_to(program)
    return folder


@pytest.mark.graded
class TestGitLab:
    """The same push."""

    def test_a_push_is_graded_told_and_fails_below_the_threshold(
        self, repository: Repository, tmp_path: Path
    ) -> None:
        choices = Choices(repository.path, STUB, assignment="small", threshold=5)
        files = gitlab_files(choices)
        write_new({repository.path / path: text for path, text in files.items()}, force=False)
        service = GitLab(repository, tmp_path / "runner")
        before = repository.git("rev-parse", "HEAD~1")
        outcome = service.run({"CI_COMMIT_BEFORE_SHA": before})
        assert not outcome.succeeded
        assert "fewer than 5 points.\n" in outcome.log
        assert "changed: 2.\n" in outcome.log
        assert re.search(
            r"^Isolation of submissions: (strong|container|basic|minimal)\.", outcome.log, re.M
        )
        pages = repository.path / "pages"
        assert 2 == len(list(pages.rglob("*.html")))
        assert HIDDEN not in outcome.log
        suite = ElementTree.parse(pages / "submissions/bob/hw.xml").getroot()
        assert 1 == len(suite.findall(".//failure"))
        assert [] == list(repository.path.rglob("harm"))

    def test_without_a_change_the_job_succeeds(
        self, repository: Repository, tmp_path: Path
    ) -> None:
        files = gitlab_files(Choices(repository.path, STUB))
        write_new({repository.path / path: text for path, text in files.items()}, force=False)
        service = GitLab(repository, tmp_path / "runner")
        outcome = service.run({"CI_COMMIT_BEFORE_SHA": repository.head()})
        assert outcome.succeeded
        assert ["changed: 0."] == [outcome.log.strip().removeprefix("Submissions that ")]

    def test_the_first_push_grades_everything(self, repository: Repository, tmp_path: Path) -> None:
        files = gitlab_files(Choices(repository.path, STUB))
        write_new({repository.path / path: text for path, text in files.items()}, force=False)
        outcome = GitLab(repository, tmp_path / "runner").run(
            {"CI_COMMIT_BEFORE_SHA": ZEROS}, until=2
        )
        assert "changed: 3.\n" in outcome.log
