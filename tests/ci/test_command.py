"""`grader ci init`: what it writes, what it refuses, and what it tells."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from grader.ci.recipes import (
    Choices,
    fill,
    find_course_of,
    github_files,
    submissions_pattern,
    write_new,
)
from grader.cli.commands import app
from grader.errors import CourseError, GraderError, UsageError
from tests.ci.repository import Repository
from tests.ci.wheels import STUB, build


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the small course."""
    repository = Repository(tmp_path)
    repository.add_course()
    return repository.path


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The path of this grader's wheel."""
    built = build()
    path = tmp_path_factory.mktemp("wheel") / built.name
    path.write_bytes(built.content)
    return str(path)


@pytest.fixture
def here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same folder, and we are in it."""
    monkeypatch.chdir(folder)
    return folder


def init(*words: str) -> tuple[int, str]:
    """Run the command; return its exit code, or 2 for an error, and all that it said."""
    done = CliRunner().invoke(app, ["ci", "init", *words])
    if isinstance(done.exception, GraderError):
        return 2, f"{done.output}{done.exception.message.english}"
    return done.exit_code, done.output


class TestCommand:
    """As it is run."""

    @pytest.mark.parametrize(
        ("service", "file", "following"),
        [
            ("github", ".github/workflows/grade.yml", "the tab Actions"),
            ("gitlab", ".gitlab-ci.yml", "Build > Pipelines"),
            ("gradescope", "autograder.zip", "upload it under Configure Autograder"),
            ("leaderboard", ".github/workflows/leaderboard.yml", "under Settings, Pages"),
        ],
    )
    def test_it_writes_a_file_and_says_what_is_next(
        self, here: Path, wheel: str, service: str, file: str, following: str
    ) -> None:
        code, said = init(service, "--assignment", "small", "--install", wheel)
        assert 0 == code, said
        assert said.startswith(f"{file}\n")
        assert following in said
        assert (here / file).stat().st_size > 1000

    def test_a_bundle_for_classroom50_is_made_of_a_release(self, here: Path, wheel: str) -> None:
        (here / "release.json").write_text("{}")
        code, said = init("classroom50", "--course", ".", "--directory", "b", "--install", wheel)
        assert 0 == code, said
        assert "CLASSROOM/autograders/ASSIGNMENT/" in said
        assert (here / "b/autograder.py").exists() and (here / "b/course/release.json").exists()

    @pytest.mark.parametrize(
        ("service", "file", "address"),
        [
            ("codespaces", ".devcontainer/devcontainer.json", "https://codespaces.new/"),
            ("binder", ".binder/postBuild", "https://mybinder.org/v2/gh/"),
        ],
    )
    def test_a_release_gets_what_a_browser_needs_and_a_button(
        self, here: Path, wheel: str, service: str, file: str, address: str
    ) -> None:
        code, said = init(service, "--install", wheel)
        assert 2 == code and "is not a release" in said
        (here / "release.json").write_text("{}")
        code, said = init(service, "--install", wheel)
        assert 0 == code, said
        assert (here / file).exists() and (here / ".grader" / Path(wheel).name).exists()
        assert f"]({address}OWNER/REPOSITORY" in said
        assert "use --repository" in said
        code, said = init(service, "--install", wheel, "--repository", "ada/course")
        assert 0 == code, said
        assert f"]({address}ada/course" in said
        assert "use --repository" not in said

    def test_what_is_there_is_overwritten_only_by_force(self, here: Path, wheel: str) -> None:
        path = here / ".gitlab-ci.yml"
        path.write_text("mine")
        code, said = init("gitlab", "--install", wheel)
        assert 2 == code
        assert ".gitlab-ci.yml exists already" in said
        assert "mine" == path.read_text()
        code, said = init("gitlab", "--force", "--threshold", "5.5", "--install", wheel)
        assert 0 == code, said
        assert 'GRADER_THRESHOLD: "5.5"' in path.read_text()

    def test_another_folder_may_be_meant(self, folder: Path, wheel: str) -> None:
        code, said = init("github", "--directory", str(folder), "--install", wheel)
        assert 0 == code, said
        assert (folder / ".github/workflows/grade.yml").exists()

    def test_the_wheel_and_a_lock_with_its_hash_stand_beside_the_recipe(
        self, here: Path, wheel: str
    ) -> None:
        code, said = init("github", "--install", wheel)
        assert 0 == code, said
        content = Path(wheel).read_bytes()
        assert content == (here / ".grader" / Path(wheel).name).read_bytes()
        locked = (here / ".grader/requirements.txt").read_text()
        assert f"--hash=sha256:{hashlib.sha256(content).hexdigest()}\n" in locked
        assert (here / ".grader/torch.txt").exists()

    @pytest.mark.parametrize("service", ["github", "gitlab", "gradescope"])
    @pytest.mark.parametrize("install", ["dist/nothing.whl", "grader==1.2", "no folder"])
    def test_what_is_not_there_cannot_be_installed(
        self, here: Path, service: str, install: str
    ) -> None:
        code, said = init(service, "--install", install)
        assert 2 == code
        assert f"There is no wheel {install}" in said
        assert ["assignments"] == [each.name for each in here.iterdir() if each.name != ".git"]

    def test_without_a_course_it_says_where_to_put_it(self, tmp_path: Path, wheel: str) -> None:
        code, said = init("github", "--directory", str(tmp_path), "--install", wheel)
        assert 0 == code, said
        assert "There is no course here yet" in said


class TestChoices:
    """What is refused before anything is written."""

    def test_an_assignment_must_be_in_the_course(self, folder: Path) -> None:
        with pytest.raises(UsageError, match="There is no assignment called 'large'"):
            find_course_of(Choices(folder, STUB, assignment="large"))

    @pytest.mark.parametrize("course", [Path("/tmp"), Path("../course")])
    def test_a_course_must_be_in_the_repository(self, folder: Path, course: Path) -> None:
        with pytest.raises(CourseError, match="is not a folder of the repository"):
            find_course_of(Choices(folder, STUB, course=course))

    def test_a_course_that_is_named_must_be_there(self, folder: Path) -> None:
        with pytest.raises(CourseError, match="No assignment was found"):
            find_course_of(Choices(folder, STUB, course=Path("elsewhere")))

    @pytest.mark.parametrize(
        ("text", "pattern"),
        [
            ("submissions", "submissions/**/*.ipynb"),
            ("a/b/", "a/b/**/*.ipynb"),
            (".", "**/*.ipynb"),
            ("hw/*/final.ipynb", "hw/*/final.ipynb"),
            ("-x", "-x/**/*.ipynb"),
        ],
    )
    def test_a_folder_stands_for_the_notebooks_in_it(self, text: str, pattern: str) -> None:
        assert pattern == submissions_pattern(text)

    @pytest.mark.parametrize("text", ["", "/home", "../hw", "hw/../../x", "hw/*", "hw/*.py"])
    def test_what_leads_out_or_is_no_notebook_is_refused(self, text: str) -> None:
        with pytest.raises(UsageError):
            submissions_pattern(text)

    @pytest.mark.parametrize(
        "text", ["${{ secrets.X }}", "$HOME", "a\nb", "a\rb", "`id`", "\\", "{{", "a\u2028b"]
    )
    def test_what_a_service_would_replace_is_refused(self, text: str) -> None:
        with pytest.raises(UsageError, match="is not allowed in a recipe"):
            fill("setup.sh", {"X": text}, str)

    def test_a_folder_that_cannot_be_written_to_is_no_crash(self, folder: Path) -> None:
        (folder / ".github").write_text("a file")
        files = {folder / path: text for path, text in github_files(Choices(folder, STUB)).items()}
        with pytest.raises(UsageError, match="Cannot write"):
            write_new(files, force=True)
