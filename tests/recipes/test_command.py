"""`grader ci init`: what it writes, what it refuses, and what it tells."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from grader.cli.commands import app
from grader.errors import CourseError, GraderError, UsageError
from grader.recipes.fill import fill
from grader.recipes.options import Choices, check_install, find_course_of, submissions_pattern
from grader.recipes.write import github_files, write_new
from tests.recipes.repository import Repository


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the small course."""
    repository = Repository(tmp_path)
    repository.add_course()
    return repository.path


@pytest.fixture
def here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same folder, and we are in it."""
    monkeypatch.chdir(folder)
    return folder


def init(*words: str) -> tuple[int, str]:
    """Run the command; return its exit code, or 2 for an error, and all that it said."""
    done = CliRunner().invoke(app, ["ci", "init", *words])
    if isinstance(done.exception, GraderError):
        return 2, f"{done.output}{done.exception.message}"
    return done.exit_code, done.output


class TestCommand:
    """As it is run."""

    @pytest.mark.parametrize(
        ("service", "file", "following"),
        [
            ("github", ".github/workflows/grade.yml", "the tab Actions"),
            ("gitlab", ".gitlab-ci.yml", "Build > Pipelines"),
            ("gradescope", "autograder.zip", "upload it under Configure Autograder"),
        ],
    )
    def test_it_writes_a_file_and_says_what_is_next(
        self, here: Path, service: str, file: str, following: str
    ) -> None:
        code, said = init(service, "--assignment", "small")
        assert 0 == code, said
        assert said.startswith(f"{file}\n")
        assert following in said
        assert (here / file).stat().st_size > 1000

    def test_what_is_there_is_overwritten_only_by_force(self, here: Path) -> None:
        path = here / ".gitlab-ci.yml"
        path.write_text("mine")
        code, said = init("gitlab")
        assert 2 == code
        assert ".gitlab-ci.yml is there already" in said
        assert "mine" == path.read_text()
        code, said = init("gitlab", "--force", "--threshold", "5.5")
        assert 0 == code, said
        assert 'GRADER_THRESHOLD: "5.5"' in path.read_text()

    def test_another_folder_may_be_meant(self, folder: Path) -> None:
        code, said = init("github", "--directory", str(folder))
        assert 0 == code, said
        assert (folder / ".github/workflows/grade.yml").exists()

    def test_without_a_course_it_says_where_to_put_it(self, tmp_path: Path) -> None:
        code, said = init("github", "--directory", str(tmp_path))
        assert 0 == code, said
        assert "There is no course here yet" in said


class TestChoices:
    """What is refused before anything is written."""

    def test_an_assignment_must_be_in_the_course(self, folder: Path) -> None:
        with pytest.raises(UsageError, match="There is no assignment called 'large'"):
            find_course_of(Choices(folder, assignment="large"))

    @pytest.mark.parametrize("course", [Path("/tmp"), Path("../course")])
    def test_a_course_must_be_in_the_repository(self, folder: Path, course: Path) -> None:
        with pytest.raises(CourseError, match="is no folder of the repository"):
            find_course_of(Choices(folder, course=course))

    def test_a_course_that_is_named_must_be_there(self, folder: Path) -> None:
        with pytest.raises(CourseError, match="No assignment was found"):
            find_course_of(Choices(folder, course=Path("elsewhere")))

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
        "text",
        [
            "",
            "-r requirements.txt",
            "--index-url=https://example.org",
            "git+https://user:secret@example.org/grader.git",
            "git+https://token@example.org/grader.git",
        ],
    )
    def test_neither_options_nor_secrets_are_installed(self, text: str) -> None:
        with pytest.raises(UsageError):
            check_install(text)

    @pytest.mark.parametrize(
        "text",
        [
            "grader==0.1.0",
            ".",
            "git+https://example.org/grader.git@v1",
            "git+ssh://git@example.org/grader.git",
        ],
    )
    def test_packages_folders_and_addresses_are_installed(self, text: str) -> None:
        assert text == check_install(text)

    @pytest.mark.parametrize(
        "text", ["${{ secrets.X }}", "$HOME", "a\nb", "a\rb", "`id`", "\\", "{{", "a\u2028b"]
    )
    def test_what_a_service_would_replace_is_refused(self, text: str) -> None:
        with pytest.raises(UsageError, match="cannot stand in a recipe"):
            fill("setup.sh", {"X": text}, str)

    def test_a_folder_that_cannot_be_written_to_is_no_crash(self, folder: Path) -> None:
        (folder / ".github").write_text("a file")
        files = {folder / path: text for path, text in github_files(Choices(folder)).items()}
        with pytest.raises(UsageError, match="Cannot write"):
            write_new(files, force=True)
