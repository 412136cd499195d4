"""Which submissions a recipe takes as changed, whatever was pushed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from grader.ci.recipes import Choices, github_files, gitlab_files, write_new
from tests.ci.repository import BRANCH, Repository
from tests.ci.services import ZEROS, GitHub, GitLab
from tests.ci.wheels import STUB

ODD = (
    'submissions/a b/ada\'s "hw".ipynb',
    "submissions/-rf.ipynb",
    "submissions/--target-directory=x.ipynb",
    "submissions/line\nbreak/$(touch harm)`touch harm`;touch harm.ipynb",
    "submissions/作业 é.ipynb",
    "submissions/*.ipynb",
    "submissions/%s\\n.ipynb",
)

OPTIONS = ("--target-directory=x.ipynb", "-rf.ipynb")
"""Names in the repository's root, where nothing stands before them."""

Find = Callable[[str, str], set[str]]
"""Returns the files that are staged, given the commit before and the branch."""


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """A repository whose first commit has a submission, and files that are none."""
    made = Repository(tmp_path)
    made.write("submissions/old.ipynb")
    made.write("submissions/data.csv")
    made.write("elsewhere/other.ipynb")
    made.commit()
    made.push()
    return made


@pytest.fixture
def folder() -> str:
    """Where submissions are."""
    return "submissions"


@pytest.fixture(params=["github", "gitlab"])
def find(
    request: pytest.FixtureRequest, repository: Repository, folder: str, tmp_path: Path
) -> Find:
    """The recipe's own steps, in a scratch clone."""
    choices = Choices(repository.path, STUB, submissions=folder)
    places = iter(range(9))

    def on_github(before: str, branch: str) -> set[str]:
        files = github_files(choices)
        write_new({repository.path / path: text for path, text in files.items()}, force=True)
        service = GitHub(repository, tmp_path / f"github{next(places)}")
        event = {"before": before}
        outcome = service.run(event, branch, until="Find the submissions that changed")
        assert outcome.succeeded, outcome.log
        found = staged(service.temporary)
        assert f"Submissions that changed: {len(found)}.\n" == outcome.summary
        return found

    def on_gitlab(before: str, branch: str) -> set[str]:
        files = gitlab_files(choices)
        write_new({repository.path / path: text for path, text in files.items()}, force=True)
        service = GitLab(repository, tmp_path / f"gitlab{next(places)}")
        outcome = service.run({"CI_COMMIT_BEFORE_SHA": before}, branch, until=2)
        assert outcome.succeeded, outcome.log
        return staged(service.temporary)

    return {"github": on_github, "gitlab": on_gitlab}[request.param]


def staged(temporary: Path) -> set[str]:
    """Return the files below the folder that is graded, which is the only one of its name."""
    (folder,) = temporary.glob("**/changed-files")
    found = (path for path in folder.rglob("*") if path.is_symlink() or path.is_file())
    return {path.relative_to(folder).as_posix() for path in found}


def test_a_push_is_graded_against_the_one_before(repository: Repository, find: Find) -> None:
    before = repository.head()
    repository.write("submissions/ada/hw.ipynb")
    repository.commit()
    repository.write("submissions/old.ipynb", "[]")
    repository.write("elsewhere/other.ipynb", "[]")
    repository.write("submissions/data.csv", "1")
    repository.commit()
    assert {"submissions/ada/hw.ipynb", "submissions/old.ipynb"} == find(before, BRANCH)


def test_nothing_is_graded_where_no_submission_changed(repository: Repository, find: Find) -> None:
    before = repository.head()
    repository.write("README.md")
    repository.commit()
    assert set() == find(before, BRANCH)


def test_what_was_removed_is_not_graded_and_what_was_moved_is(
    repository: Repository, find: Find
) -> None:
    before = repository.head()
    repository.git("mv", "submissions/old.ipynb", "submissions/new.ipynb")
    repository.commit()
    assert {"submissions/new.ipynb"} == find(before, BRANCH)


@pytest.mark.parametrize("before", [ZEROS, "", "a" * 40], ids=["first", "unknown", "gone"])
def test_on_the_default_branch_without_a_known_push_before_everything_is_graded(
    repository: Repository, find: Find, before: str
) -> None:
    assert {"submissions/old.ipynb"} == find(before, BRANCH)


@pytest.mark.parametrize("before", [ZEROS, "a" * 40], ids=["first", "gone"])
def test_a_new_branch_is_graded_against_where_it_left_the_default_branch(
    repository: Repository, find: Find, before: str
) -> None:
    repository.git("checkout", "--quiet", "-b", "mine")
    repository.write("submissions/mine.ipynb")
    repository.commit()
    repository.git("checkout", "--quiet", BRANCH)
    repository.write("submissions/theirs.ipynb")
    repository.commit()
    repository.push()
    repository.git("checkout", "--quiet", "mine")
    assert {"submissions/mine.ipynb"} == find(before, "mine")


def test_a_new_branch_without_a_commit_of_its_own_has_nothing(
    repository: Repository, find: Find
) -> None:
    repository.git("checkout", "--quiet", "-b", "mine")
    assert set() == find(ZEROS, "mine")


def test_after_a_force_push_the_difference_counts(repository: Repository, find: Find) -> None:
    repository.write("submissions/dropped.ipynb")
    dropped = repository.commit()
    repository.git("reset", "--quiet", "--hard", "HEAD~1")
    repository.write("submissions/kept.ipynb")
    repository.commit()
    assert {"submissions/kept.ipynb"} == find(dropped, BRANCH)


def test_a_name_is_a_name_and_nothing_else(repository: Repository, find: Find) -> None:
    before = repository.head()
    for name in ODD:
        repository.write(name)
    repository.commit()
    assert set(ODD) == find(before, BRANCH)
    assert [] == list(repository.path.rglob("harm"))


@pytest.mark.parametrize("folder", ["."])
def test_a_name_is_no_option(repository: Repository, find: Find) -> None:
    before = repository.head()
    for name in OPTIONS:
        repository.write(name)
    repository.commit()
    assert set(OPTIONS) == find(before, BRANCH)


def test_a_link_is_taken_as_a_link(repository: Repository, find: Find, tmp_path: Path) -> None:
    before = repository.head()
    (repository.path / "submissions/link.ipynb").symlink_to("../elsewhere/other.ipynb")
    repository.commit()
    assert {"submissions/link.ipynb"} == find(before, BRANCH)
    (link,) = tmp_path.glob("git*/**/changed-files/submissions/*")
    assert link.is_symlink()


def test_a_module_of_another_repository_is_no_submission(
    repository: Repository, find: Find
) -> None:
    before = repository.head()
    entry = f"160000,{before},submissions/module.ipynb"
    repository.git("update-index", "--add", "--cacheinfo", entry)
    repository.git("commit", "--quiet", "--message", "x")
    assert set() == find(before, BRANCH)


def test_a_pull_request_is_graded_against_its_base(repository: Repository, tmp_path: Path) -> None:
    base = repository.head()
    for name in ("one", "two"):
        repository.write(f"submissions/{name}.ipynb")
        repository.commit()
    files = github_files(Choices(repository.path, STUB))
    write_new({repository.path / path: text for path, text in files.items()}, force=True)
    service = GitHub(repository, tmp_path / "github")
    event = {"pull_request": {"base": {"sha": base}}}
    service.run(event, "7/merge", until="Find the submissions that changed")
    expected = {"submissions/one.ipynb", "submissions/two.ipynb"}
    assert expected == staged(service.temporary)


def test_a_merge_request_is_graded_against_its_base(repository: Repository, tmp_path: Path) -> None:
    base = repository.head()
    repository.write("submissions/one.ipynb")
    repository.commit()
    files = gitlab_files(Choices(repository.path, STUB))
    write_new({repository.path / path: text for path, text in files.items()}, force=True)
    service = GitLab(repository, tmp_path / "gitlab")
    variables = {"CI_MERGE_REQUEST_DIFF_BASE_SHA": base, "CI_COMMIT_BEFORE_SHA": ZEROS}
    service.run(variables, "mine", until=2)
    assert {"submissions/one.ipynb"} == staged(service.temporary)
