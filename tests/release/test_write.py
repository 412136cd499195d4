"""A release: nothing of it tells what is hidden, and what is public can be graded with it."""

from __future__ import annotations

import ast
import json
import shutil
import zipfile
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path

import pytest
from typer.testing import CliRunner

from grader.authoring.master import find_master, read_master, regions, sources
from grader.cli.commands import app
from grader.course import Course, load_course
from grader.errors import CourseError, GraderError, UsageError
from grader.release.secret import digest_of, unpack
from grader.release.write import (
    Manifest,
    public_assignment,
    read_manifest,
    release_files,
    write_release,
)
from tests.ci.wheels import STUB, build
from tests.endtoend.command import run_grader

ROOT = Path(__file__).parents[2]
COURSES = (ROOT, *sorted(ROOT.glob("tests/courses/*")))
LONG = 30
"""A line of so many characters is nobody else's."""


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """This repository's release."""
    folder = tmp_path_factory.mktemp("release") / "students"
    course = load_course(ROOT)
    write_release(folder, release_files(course, build(), None), course)
    return folder


@pytest.fixture
def copy(tmp_path: Path, release: Path) -> Path:
    """That release where a grading may leave what Python compiles of its files."""
    return shutil.copytree(release, tmp_path / "students")


def texts(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield name and text of every file below a folder, also in wheels; of notebooks, the cells."""
    for path in sorted(each for each in folder.rglob("*") if each.is_file()):
        name = str(path.relative_to(folder))
        if path.suffix == ".whl":
            with zipfile.ZipFile(path) as wheel:
                yield from (
                    (each, wheel.read(each).decode(errors="replace")) for each in wheel.namelist()
                )
        elif path.suffix == ".ipynb":
            cells = json.loads(path.read_text())["cells"]
            yield name, "\n".join("".join(cell["source"]) for cell in cells)
        else:
            yield name, path.read_text()


def code(text: str) -> set[str]:
    """Return the lines of a text that only its author writes."""
    stripped = {line.strip() for line in text.splitlines()}
    return {line for line in stripped if len(line) >= LONG and not line.startswith("#")}


def solution_lines() -> set[str]:
    """Return the lines of all solutions that stand neither in what students read nor in hints."""
    solved, plain = set(), set()
    for slug in load_course(ROOT).assignments:
        for source in sources(read_master(find_master(ROOT, slug))):
            for region in regions(source.text):
                target = plain if region.kind == "plain" and source.is_for_students else solved
                target |= code("\n".join(region.lines))
    package = "".join(path.read_text() for path in (ROOT / "grader").rglob("*.py"))
    for name in ("dialects/table.toml", "words/en.json"):
        package += (ROOT / "grader" / name).read_text()
    return {line for line in solved - plain if line not in package}


def schedule_lines(slug: str) -> set[str]:
    """Return the lines of the reference schedule, and of what it calls."""
    text = (ROOT / "assignments" / slug / "workload.py").read_text()
    public = {"baseline", "target", "add_bias", "add_relu"}
    functions = [each for each in ast.parse(text).body if isinstance(each, ast.FunctionDef)]
    mine = [each for each in functions if each.name not in public]
    assert "reference" in {each.name for each in mine}
    lines = text.splitlines()
    found = code("\n".join("\n".join(lines[each.lineno : each.end_lineno]) for each in mine))
    others = [each for each in functions if each.name in public]
    return found - code("\n".join("\n".join(lines[e.lineno : e.end_lineno]) for e in others))


def hidden_words() -> set[str]:
    """Return what only hidden parts have: names, titles, layers."""
    words: set[str] = set()
    for each in load_course(ROOT).assignments.values():
        public = public_assignment(each.assignment)
        kept = {part.id for part in public.part}
        gone = [part for part in each.assignment.part if part.id not in kept]
        words |= {word for part in gone for word in (part.id, part.title, *part.titles.values())}
    models = ("Deep", "Unbiased", "Branches", "Nested", "Orders", "Lookalikes", "Shared")
    return words | {f"class {each}(" for each in models} | {"_widths("}


def mutant_lines() -> set[str]:
    """Return the lines of the mutants of e2e-conv."""
    return code((ROOT / "assignments/e2e-conv/mutants.toml").read_text())


class TestSecrets:
    """By content, whatever the files are called."""

    @pytest.mark.parametrize(
        "secrets",
        [
            solution_lines,
            partial(schedule_lines, "e2e-conv"),
            partial(schedule_lines, "tensorir"),
            hidden_words,
            mutant_lines,
        ],
        ids=["solutions", "schedule of e2e-conv", "schedule of tensorir", "hidden", "mutants"],
    )
    def test_nothing_of_it_is_in_a_release(
        self, release: Path, secrets: Callable[[], set[str]]
    ) -> None:
        kept = secrets()
        assert len(kept) > 10
        found = {(name, each) for name, text in texts(release) for each in kept if each in text}
        assert set() == found

    def test_the_complete_course_would_be_found(self) -> None:
        """The search finds what it looks for."""
        text = "\n".join(
            path.read_text()
            for pattern in ("assignments/*/*.*", "reference/*.py")
            for path in ROOT.glob(pattern)
        )
        searched = solution_lines() | schedule_lines("e2e-conv") | schedule_lines("tensorir")
        assert [] == [each for each in searched | hidden_words() if each not in text]

    @pytest.mark.parametrize("course", COURSES, ids=lambda each: each.name)
    def test_no_check_that_is_kept_back_is_in_it(self, course: Path) -> None:
        loaded = load_course(course)
        files = release_files(loaded, STUB, None)
        for slug, each in loaded.assignments.items():
            written = files[f"assignments/{slug}/assignment.toml"].decode()
            for part in each.assignment.part:
                kept = [table for table in part.check if part.visibility_of(table) == "hidden"]
                if part.hidden or kept == list(part.check):
                    assert f'"{part.id}"' not in written

    def test_only_known_files_of_an_assignment_are_in_it(self, tmp_path: Path) -> None:
        shutil.copytree(ROOT / "tests/courses/kinds", tmp_path / "course")
        (tmp_path / "course/assignments/kinds/answers.csv").touch()
        (tmp_path / "course/assignments/kinds/mutants.toml").touch()
        files = release_files(load_course(tmp_path / "course"), STUB, None)
        names = {Path(name).name for name in files if name.startswith("assignments/")}
        assert {"assignment.toml", "oracle.py", "models.py", "workload.py"} == names

    def test_checks_of_the_course_that_only_hidden_parts_use_are_left_out(
        self, tmp_path: Path
    ) -> None:
        folder = tmp_path / "assignments/small"
        shutil.copytree(ROOT / "tests/courses/small/assignments/small", folder)
        settings = folder / "assignment.toml"
        line = 'id = "structure"\nkind = "call_tir_graph"\npoints = 4\n'
        text = settings.read_text()
        assert line in text
        hidden = line.replace("call_tir_graph", "trap") + 'visibility = "hidden"\n'
        settings.write_text(text.replace(f"{line}options = {{ weights = [[16, 8]] }}\n", hidden))
        (folder / "checks.py").write_text(CHECKS)
        files = release_files(load_course(tmp_path), STUB, None)
        written = files["assignments/small/checks.py"].decode()
        assert "trap" not in written
        assert "LIMIT" not in written
        assert '@check("shown"' in written


CHECKS = '''"""Checks of the course."""

from grader.evidence.registry import passed
from grader.evidence.registry import NoOptions, check

LIMIT = 7


@check("trap", options=NoOptions)
def trap(case, options):
    """The trap."""
    return passed(str(LIMIT))


@check("shown", options=NoOptions)
def shown(case, options):
    """What is shown."""
    return passed("")
'''


@cache
def public_files() -> tuple[Course, Mapping[str, bytes]]:
    """Return this repository's course and the files of its release, made once."""
    course = load_course(ROOT)
    return course, release_files(course, STUB, None)


class TestWriting:
    """Into a folder."""

    def test_an_earlier_release_is_replaced_and_other_files_stay(self, tmp_path: Path) -> None:
        course, files = public_files()
        write_release(tmp_path, files, course)
        (tmp_path / "mine.txt").touch()
        fewer = {name: text for name, text in files.items() if "tensorir" not in name}
        write_release(tmp_path, fewer, course)
        assert not list(tmp_path.rglob("tensorir*.ipynb"))
        assert (tmp_path / "mine.txt").exists()

    def test_what_is_in_the_way_is_not_overwritten(self, tmp_path: Path) -> None:
        course, files = public_files()
        (tmp_path / "SELFCHECK.md").write_text("mine")
        with pytest.raises(UsageError, match=r"SELFCHECK.md exists already"):
            write_release(tmp_path, files, course)
        assert ["SELFCHECK.md"] == [path.name for path in tmp_path.iterdir()]

    def test_nothing_outside_is_deleted_whatever_the_manifest_says(self, tmp_path: Path) -> None:
        course, files = public_files()
        outside = tmp_path / "outside"
        outside.touch()
        folder = tmp_path / "release"
        folder.mkdir()
        document = {"format": 1, "files": ["../outside", str(outside)], "solutions": []}
        (folder / "release.json").write_text(json.dumps(document))
        write_release(folder, files, course)
        assert outside.exists()

    @pytest.mark.parametrize(
        "name", [".git/config", "submissions/ada/hw.ipynb", "assignments/../mine"]
    )
    def test_nor_what_no_release_has_written(self, tmp_path: Path, name: str) -> None:
        """Students may push a manifest: by theirs the repository's own files were deleted."""
        course, files = public_files()
        (tmp_path / "assignments").mkdir()
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
        document = {"format": 1, "files": [name], "solutions": []}
        (tmp_path / "release.json").write_text(json.dumps(document))
        write_release(tmp_path, files, course)
        assert (tmp_path / name).exists()

    @pytest.mark.parametrize("name", ["assignments", "", "templates/" + "a" * 300, "a\0b"])
    def test_a_manifest_that_names_no_files_does_no_harm(self, tmp_path: Path, name: str) -> None:
        course, files = public_files()
        (tmp_path / "assignments").mkdir()
        document = {"format": 1, "files": [name], "solutions": []}
        (tmp_path / "release.json").write_text(json.dumps(document))
        write_release(tmp_path, files, course)
        assert (tmp_path / "SELFCHECK.md").exists()

    @pytest.mark.parametrize("link", ["assignments", "SELFCHECK.md", ".grader"])
    def test_nothing_is_written_through_a_link(self, tmp_path: Path, link: str) -> None:
        """Students may push to where a release is kept."""
        course, files = public_files()
        outside = tmp_path / "outside"
        (tmp_path / "release").mkdir()
        (tmp_path / "release" / link).symlink_to(outside)
        if "." not in link[1:]:
            outside.mkdir()
        with pytest.raises(UsageError, match="is a link"):
            write_release(tmp_path / "release", files, course)
        assert not outside.exists() or not list(outside.iterdir())

    def test_nor_deleted(self, tmp_path: Path) -> None:
        course, files = public_files()
        (tmp_path / "outside").mkdir()
        (tmp_path / "outside/kept").touch()
        (tmp_path / "release").mkdir()
        (tmp_path / "release/templates").mkdir()
        (tmp_path / "release/templates/old").symlink_to(tmp_path / "outside")
        document = {"format": 1, "files": ["templates/old/kept"], "solutions": []}
        (tmp_path / "release/release.json").write_text(json.dumps(document))
        with pytest.raises(UsageError, match="is a link"):
            write_release(tmp_path / "release", files, course)
        assert (tmp_path / "outside/kept").exists()

    @pytest.mark.parametrize("name", [".", "assignments", "assignments/x"])
    def test_the_course_itself_is_no_place_for_it(self, tmp_path: Path, name: str) -> None:
        shutil.copytree(ROOT / "tests/courses/kinds", tmp_path, dirs_exist_ok=True)
        course = load_course(tmp_path)
        with pytest.raises(UsageError, match="is the course itself"):
            write_release(tmp_path / name, release_files(course, STUB, None), course)

    @pytest.mark.parametrize("text", ["{", "[]", '{"format": 1, "files": [], "secret": "x"}'])
    def test_a_damaged_manifest_is_an_error(self, tmp_path: Path, text: str) -> None:
        (tmp_path / "release.json").write_text(text)
        with pytest.raises(CourseError, match=r"Cannot read .*release\.json"):
            read_manifest(tmp_path)

    def test_without_masters_the_templates_are_taken_as_they_are(self, tmp_path: Path) -> None:
        shutil.copytree(ROOT / "tests/courses/kinds", tmp_path, dirs_exist_ok=True)
        (tmp_path / "templates").mkdir()
        for name in ("kinds.ipynb", "kinds.zh.ipynb", "other.ipynb"):
            (tmp_path / "templates" / name).write_text("{}")
        files = release_files(load_course(tmp_path), STUB, None)
        found = {name for name in files if name.startswith("templates/")}
        assert {"templates/kinds.ipynb", "templates/kinds.zh.ipynb"} == found


def run(*words: str | Path) -> tuple[int, str]:
    """Run `grader release`; return its exit code, or 2 for an error, and what it said."""
    done = CliRunner().invoke(app, ["release", *map(str, words)])
    if isinstance(done.exception, GraderError):
        return 2, f"{done.output}{done.exception.message.english}"
    return done.exit_code, done.output


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    path = tmp_path / build().name
    path.write_bytes(build().content)
    return path


class TestCommand:
    """As it is run."""

    def test_it_writes_release_and_secret_and_says_their_digest(
        self, tmp_path: Path, wheel: Path
    ) -> None:
        secret = tmp_path / "secret.zip"
        options = ("--secret", secret, "--course", ROOT, "--install", wheel)
        code, said = run(tmp_path / "students", *options)
        assert 0 == code, said
        digest = digest_of(secret.read_bytes())
        assert f"SHA-256 {digest}" in said
        manifest = read_manifest(tmp_path / "students")
        assert isinstance(manifest, Manifest)
        assert digest == manifest.secret
        assert 0o600 == secret.stat().st_mode & 0o777
        unpack(secret.read_bytes(), tmp_path / "complete")
        assert 100 == load_course(tmp_path / "complete").get("from-torch").assignment.points

    def test_what_an_earlier_command_left_does_not_open_the_secret(
        self, tmp_path: Path, wheel: Path
    ) -> None:
        (tmp_path / "outside").touch()
        (tmp_path / "secret.zip").touch(0o644)
        (tmp_path / "secret.zip.part").symlink_to(tmp_path / "outside")
        options = ("--secret", tmp_path / "secret.zip", "--course", ROOT, "--install", wheel)
        code, said = run(tmp_path / "students", *options)
        assert 0 == code, said
        assert 0o600 == (tmp_path / "secret.zip").stat().st_mode & 0o777
        assert b"" == (tmp_path / "outside").read_bytes()

    def test_without_a_secret_it_says_what_is_not_graded(self, tmp_path: Path, wheel: Path) -> None:
        code, said = run(tmp_path / "students", "--course", ROOT, "--install", wheel)
        assert 0 == code, said
        assert "Hidden parts and speed are not graded there" in said

    @pytest.mark.parametrize("name", ["students/secret.zip", "students", "nowhere/secret.zip"])
    def test_the_secret_does_not_lie_in_the_release(
        self, tmp_path: Path, wheel: Path, name: str
    ) -> None:
        options = ("--secret", tmp_path / name, "--course", ROOT, "--install", wheel)
        code, said = run(tmp_path / "students", *options)
        assert 2 == code
        assert "secret.zip" in said or "is in the folder that students get" in said
        assert not (tmp_path / "students").exists()


@pytest.mark.graded
class TestGrading:
    """With a release, and with the archive that belongs to it."""

    def test_what_is_public_is_graded_and_the_rest_is_told(
        self, tmp_path: Path, copy: Path
    ) -> None:
        solved = ROOT / "examples/from-torch/reference.ipynb"
        result = run_grader(tmp_path, solved, "--course", copy)
        assert result.report is not None, result.messages
        assert (60, 60) == (result.report.score, result.report.max_score)
        assert any("hidden parts, worth 40 points" in note.english for note in result.report.notes)

    def test_a_target_is_compared_and_speed_is_not_graded(self, tmp_path: Path, copy: Path) -> None:
        solved = ROOT / "examples/tensorir/reference.ipynb"
        result = run_grader(tmp_path, solved, "--course", copy, "--lang", "ko")
        assert result.report is not None, result.messages
        assert (85, 100) == (result.report.score, result.report.max_score)
        assert 20 == result.check("transform", "target").score
        speed = result.check("transform", "speed")
        assert "not_graded" == speed.verdict
        assert "강의 사본" in speed.reason.in_("ko")
        assert result.report.timing is None

    def test_with_the_archive_everything_is_graded(self, tmp_path: Path, wheel: Path) -> None:
        options = ("--secret", tmp_path / "secret.zip", "--course", ROOT, "--install", wheel)
        run(tmp_path / "students", *options)
        unpack((tmp_path / "secret.zip").read_bytes(), tmp_path / "complete")
        solved = ROOT / "examples/from-torch/reference.ipynb"
        result = run_grader(tmp_path, solved, "--course", tmp_path / "complete")
        assert result.report is not None, result.messages
        assert (100, 100) == (result.report.score, result.report.max_score)
        assert not any("hidden parts" in note.english for note in result.report.notes)
