"""`grader template`: what it writes, what it says, and its exit code."""

from __future__ import annotations

import io
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from grader.cli.course_files import TemplateOptions, run_new, run_template
from grader.errors import CourseError, UsageError
from tests.authoring.masters import ASSIGNMENT_TOML, TRANSLATED, write_course

ROOT = Path(__file__).resolve().parents[2]
COMMAND = [sys.executable, "-c", "from grader.cli.app import main; main()", "template"]


class Template:
    """Runs the command in a course and keeps what it prints."""

    def __init__(self, course: Path) -> None:
        self.course = course
        self.output = ""
        self.messages = ""

    def run(self, **options: object) -> bool:
        output, messages = io.StringIO(), io.StringIO()
        result = run_template(
            TemplateOptions(course=self.course, **options),  # type: ignore[arg-type]
            Console(file=output),
            Console(file=messages),
        )
        self.output, self.messages = output.getvalue(), messages.getvalue()
        return result

    def names(self, folder: str = "templates") -> list[str]:
        return sorted(path.name for path in (self.course / folder).glob("*"))


@pytest.fixture
def template(tmp_path):
    return Template(write_course(tmp_path))


def test_all_templates_of_the_course_are_written_in_all_languages(template):
    assert template.run()
    assert ["task.ipynb", "task.ko.ipynb", "task.zh.ipynb"] == template.names()
    assert 3 == template.output.count("written")


def test_the_same_again_changes_nothing(template):
    template.run()
    before = (template.course / "templates/task.ipynb").stat().st_mtime_ns
    assert template.run(slug="task")
    assert before == (template.course / "templates/task.ipynb").stat().st_mtime_ns
    assert 3 == template.output.count("unchanged")


def test_a_language_and_a_folder_may_be_chosen(template):
    assert template.run(slug="task", language="zh", output=template.course / "out")
    assert ["task.zh.ipynb"] == template.names("out")
    assert [] == template.names()


def test_an_assignment_without_a_master_is_named_and_left_out(template):
    table = template.course / "assignments/bare/assignment.toml"
    table.parent.mkdir()
    table.write_text(ASSIGNMENT_TOML.replace('slug = "task"', 'slug = "bare"'))
    assert template.run()
    assert "bare has no master notebook" in template.messages
    with pytest.raises(CourseError) as caught:
        template.run(slug="bare")
    assert "reference/bare.py" in caught.value.hint.english


def test_what_does_not_exist_is_told_with_what_does(template):
    with pytest.raises(UsageError, match="'nothing'"):
        template.run(slug="nothing")
    with pytest.raises(UsageError) as caught:
        template.run(language="de")
    assert "en, zh, ko" in caught.value.hint.english


class TestCheck:
    def test_writes_nothing_and_names_what_is_missing(self, template):
        assert not template.run(check=True)
        assert [] == template.names()
        assert 3 == template.output.count("stale or missing")
        assert "grader template --course" in template.messages

    def test_is_content_with_what_the_command_wrote(self, template):
        template.run()
        assert template.run(check=True)
        assert "" == template.output

    def test_names_the_languages_whose_text_was_changed(self, template):
        template.run()
        changed = TRANSLATED.replace("一道题", "一道大题")
        (template.course / "reference/task.py").write_text(changed, encoding="utf-8")
        assert not template.run(check=True)
        assert "task.zh.ipynb is stale" in template.output.replace("\n", "")
        assert 1 == template.output.count("stale")

    def test_a_change_of_the_solution_leaves_templates_fresh(self, template):
        template.run()
        changed = TRANSLATED.replace("return 42", "return 6 * 7")
        (template.course / "reference/task.py").write_text(changed, encoding="utf-8")
        assert template.run(check=True)

    def test_names_what_is_left_over(self, template):
        template.run()
        (template.course / "templates/task.de.ipynb").write_text("{}")
        assert not template.run(check=True)
        assert "task.de.ipynb is left over" in template.output

    def test_this_course_s_templates_are_fresh(self):
        done = subprocess.run(
            [*COMMAND, "--check"], cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert (0, "") == (done.returncode, done.stdout), done.stderr


def test_the_exit_code_of_a_check_says_whether_something_is_stale(template):
    command = [*COMMAND, "--course", str(template.course)]
    check = subprocess.run([*command, "--check"], cwd=ROOT, capture_output=True, check=False)
    assert 1 == check.returncode
    write = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    assert 0 == write.returncode, write.stderr
    check = subprocess.run([*command, "--check"], cwd=ROOT, capture_output=True, check=False)
    assert 0 == check.returncode


def new(slug: str, course: Path | None) -> str:
    output = io.StringIO()
    run_new(slug, course, "en", Console(file=output))
    return output.getvalue()


class TestNew:
    def test_the_command_that_is_next_can_be_copied(self, tmp_path: Path) -> None:
        course = tmp_path / "my course"
        command = new("layer", course).splitlines()[-1].partition(": ")[2]
        assert ["grader", "verify", "layer", "--course", str(course)] == shlex.split(command)

    @pytest.mark.parametrize("folder", ["assignments", "assignments/layer"])
    def test_no_course_is_begun_in_the_folders_of_another_one(
        self, tmp_path: Path, folder: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        new("layer", tmp_path)
        monkeypatch.chdir(tmp_path / folder)
        with pytest.raises(UsageError) as caught:
            new("second", None)
        assert caught.value.message.english == f"This folder is within the course {tmp_path}."
        assert [] == list(tmp_path.rglob("second*"))

    def test_a_folder_of_ones_own_beside_them_may_be_a_course(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        new("layer", tmp_path)
        (tmp_path / "mine").mkdir()
        monkeypatch.chdir(tmp_path / "mine")
        new("second", None)
        assert (tmp_path / "mine/assignments/second").is_dir()

    def test_it_is_no_notebook_that_cannot_be_written(self, tmp_path: Path) -> None:
        (tmp_path / "assignments").write_text("")
        with pytest.raises(UsageError, match="Cannot write a file of the course to"):
            new("layer", tmp_path)


def test_the_command_that_makes_stale_templates_anew_can_be_copied(tmp_path: Path) -> None:
    template = Template(write_course(tmp_path / "my course"))
    template.run(check=True)
    command = template.messages.replace("\n", "").partition(": ")[2]
    assert str(template.course) in shlex.split(command)
