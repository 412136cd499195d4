"""The archive for Gradescope, unpacked and run as root in a tree like the service's own."""

from __future__ import annotations

import os
import shutil
import zipfile
from io import BytesIO
from pathlib import Path

import pytest

from grader.ci.recipes import ARCHIVE, Choices, gradescope_files
from grader.ci.wheel import Checkout
from grader.errors import CourseError, UsageError
from grader.sandbox.interface import Level
from tests.ci.archives import Autograder
from tests.ci.repository import Repository, write_notebook
from tests.ci.wheels import STUB
from tests.cli.test_batch import RIGHT, WRONG
from tests.missing import needs_root

as_gradescope = needs_root("Gradescope runs its scripts as root")

SNOOP = """
import os
def reach(what, act):
    try:
        act()
    except OSError:
        return
    raise RuntimeError(f"reached: {what}")

open("scratch", "w").close()  # what may be written can be written
reach("source", lambda: os.listdir("/autograder/source"))
reach("oracle", lambda: open("/autograder/source/course/assignments/small/oracle.py").read())
reach("results", lambda: open("/autograder/results/results.json", "w"))
reach("other results", lambda: open("/autograder/results/stdout", "w"))
reach("submission", lambda: os.listdir("/autograder/submission"))
reach("script", lambda: open("/autograder/run_autograder", "a"))
"""

ELSEWHERE = """
import os, tempfile
folder = tempfile.TemporaryDirectory()
os.chdir(folder.name)
"""
"""What has it write in a folder that is gone afterwards: where root had left the file, the next run
of these tests could not write it as a user."""

ODD = 'submission/-rf $(id)\n"hw"\'.ipynb'


@pytest.fixture
def course(tmp_path: Path) -> Choices:
    """Choices for a folder with the small course, which is not graded without isolation."""
    repository = Repository(tmp_path)
    repository.add_course()
    return Choices(repository.path, STUB, minutes=10)


def archive(choices: Choices) -> bytes:
    return gradescope_files(choices)[ARCHIVE]


class TestArchive:
    """What is in it, and what it is refused for."""

    def test_it_holds_the_scripts_the_requirements_and_the_assignment(
        self, course: Choices
    ) -> None:
        (course.directory / "assignments/small/__pycache__").mkdir(exist_ok=True)
        (course.directory / "assignments/small/__pycache__/oracle.pyc").touch()
        (course.directory / "assignments/small/mutants.toml").touch()
        with zipfile.ZipFile(BytesIO(archive(course))) as made:
            modes = {each.filename: each.external_attr >> 16 & 0o777 for each in made.infolist()}
            requirements = made.read("requirements.txt").decode()
        expected = {
            "setup.sh": 0o755,
            "run_autograder": 0o755,
            "requirements.txt": 0o600,
            "torch.txt": 0o600,
            STUB.name: 0o600,
            "course/assignments/small/assignment.toml": 0o600,
            "course/assignments/small/oracle.py": 0o600,
        }
        assert expected == modes
        assert requirements.endswith(f"\n./{STUB.name} --hash=sha256:{STUB.digest}\n")

    def test_its_scripts_use_the_cache_that_is_filled_beforehand(self, course: Choices) -> None:
        with zipfile.ZipFile(BytesIO(archive(course))) as made:
            assert b"XDG_CACHE_HOME=/autograder/source/cache\n" in made.read("setup.sh")
            assert b'XDG_CACHE_HOME="$source/cache"\n' in made.read("run_autograder")

    def test_the_same_course_makes_the_same_archive(self, course: Choices) -> None:
        first = archive(course)
        os.utime(course.directory / "assignments/small/oracle.py", (0, 0))
        assert first == archive(course)

    def test_a_folder_cannot_be_installed_there(self, course: Choices) -> None:
        with pytest.raises(UsageError, match="cannot install the folder"):
            archive(Choices(course.directory, Checkout(".")))

    def test_one_assignment_must_be_meant(self, course: Choices) -> None:
        folder = course.directory / "assignments"
        shutil.copytree(folder / "small", folder / "other")
        settings = folder / "other/assignment.toml"
        settings.write_text(settings.read_text().replace('slug = "small"', 'slug = "other"'))
        with pytest.raises(UsageError, match="a separate autograder"):
            archive(course)
        named = archive(Choices(course.directory, STUB, assignment="other"))
        with zipfile.ZipFile(BytesIO(named)) as made:
            names = [name for name in made.namelist() if name.startswith("course/")]
        assert all("assignments/other" in name for name in names)

    def test_no_submission_is_run_as_root_without_isolation(self, course: Choices) -> None:
        settings = course.directory / "assignments/small/assignment.toml"
        settings.write_text(settings.read_text().replace('"minimal"', '"none"'))
        with pytest.raises(CourseError, match="could read the oracle"):
            archive(course)


@as_gradescope
class TestSetup:
    """setup.sh, with an environment that is there already."""

    def test_it_closes_the_source_and_says_what_the_machine_offers(
        self, course: Choices, tmp_path: Path
    ) -> None:
        tree = Autograder(tmp_path / "autograder", archive(course))
        (tree.folder / "source").chmod(0o755)
        ran = tree.run("/autograder/source/setup.sh")
        assert 0 == ran.code, ran.output
        assert "Data: none" in ran.output
        assert "Used      strong" in ran.output
        assert 0o700 == (tree.folder / "source").stat().st_mode & 0o777


@as_gradescope
class TestFiles:
    """Which of the files that were handed in is graded. Nothing is started here."""

    @pytest.mark.parametrize(
        ("names", "said"),
        [
            ([], "There is no notebook"),
            (["data.csv", "__MACOSX/hw.ipynb", ".ipynb_checkpoints/hw.ipynb"], "There is no"),
            (["._hw.ipynb", "a/._hw.ipynb"], "There is no"),
            (["a.ipynb", "b/C.IPYNB"], "You submitted 2 files"),
            (["a.py", "b.md"], "You submitted 2 files"),
        ],
        ids=["nothing", "copies", "of a Mac", "two", "scripts"],
    )
    def test_without_one_notebook_the_result_says_so(
        self, course: Choices, tmp_path: Path, names: list[str], said: str
    ) -> None:
        tree = Autograder(tmp_path / "autograder", archive(course))
        for name in names:
            path = tree.folder / "submission" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("{}")
        ran = tree.run("/autograder/run_autograder")
        assert 0 == ran.code
        assert said in ran.results["output"]
        assert (0, "hidden") == (ran.results["score"], ran.results["stdout_visibility"])

    def test_a_link_is_not_followed(self, course: Choices, tmp_path: Path) -> None:
        tree = Autograder(tmp_path / "autograder", archive(course))
        link = tree.folder / "submission/hw.ipynb"
        link.symlink_to("/autograder/source/course/assignments/small/oracle.py")
        ran = tree.run("/autograder/run_autograder")
        assert "There is no notebook" in ran.results["output"]

    def test_a_grader_that_fails_leaves_a_result(self, course: Choices, tmp_path: Path) -> None:
        tree = Autograder(tmp_path / "autograder", archive(course))
        write_notebook(tree.folder / "submission/hw.ipynb", RIGHT)
        shutil.rmtree(tree.folder / "source/course")
        ran = tree.run("/autograder/run_autograder")
        assert 0 == ran.results["score"]
        assert "No assignment was found" in ran.results["output"]


@as_gradescope
@pytest.mark.graded
class TestGrading:
    """A whole grading, by the grader itself."""

    @pytest.mark.parametrize(
        ("strongest", "sources", "score"),
        [("strong", RIGHT, 10), ("basic", RIGHT, 10), ("minimal", WRONG, 4)],
        ids=["strong", "basic", "minimal"],
    )
    def test_a_notebook_gets_its_points_and_reaches_nothing(
        self,
        course: Choices,
        tmp_path: Path,
        strongest: Level,
        sources: tuple[str, ...],
        score: float,
    ) -> None:
        tree = Autograder(tmp_path / "autograder", archive(course), strongest)
        write_notebook(tree.folder / ODD, (*sources, SNOOP))
        ran = tree.run("/autograder/run_autograder")
        assert 0 == ran.code, ran.output
        assert score == ran.results["score"], ran.output
        assert "reached" not in str(ran.results)
        assert strongest == ran.results["extra_data"]["sandbox"]
        assert "hidden" == ran.results["stdout_visibility"]
        assert lost(sources) == [test["status"] for test in ran.results["tests"]]
        results = tree.folder / "results"
        assert 0o700 == results.stat().st_mode & 0o777
        assert 0o600 == (results / "results.json").stat().st_mode & 0o777
        assert ["results.json"] == [path.name for path in results.iterdir()]

    def test_outside_of_the_sandbox_the_same_cell_would_reach_it(
        self, course: Choices, tmp_path: Path
    ) -> None:
        tree = Autograder(tmp_path / "autograder", archive(course))
        ran = tree.run("python3", "-c", ELSEWHERE + SNOOP)
        assert "reached: source" in ran.output


def lost(sources: tuple[str, ...]) -> list[str]:
    """Return what becomes of the two checks of the small assignment."""
    return ["passed", "passed" if sources == RIGHT else "failed"]
