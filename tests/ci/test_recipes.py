"""What is in the recipes: their services' schemas hold, and so does what they promise."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from grader.ci.recipes import (
    GITHUB,
    GITLAB,
    LEADERBOARD,
    BoardChoices,
    Choices,
    github_files,
    gitlab_files,
    gradescope_files,
    leaderboard_files,
)
from grader.ci.wheel import Checkout, Wheel
from grader.errors import UsageError
from tests.ci.archives import unpack
from tests.ci.repository import Repository
from tests.ci.services import load
from tests.ci.wheels import STUB

ROOT = Path(__file__).parents[2]
SHELLCHECK = shutil.which("shellcheck", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")

# Each of these means something to YAML, to a shell, or to a service.
NOWHERE = Path("/nonexistent")  # no course is there, so no assignment is looked for
ODD = Choices(
    directory=NOWHERE,
    install=STUB,
    assignment="yes: no # 'x' \"y\" 1e5 & * ! | > % @",
    threshold=7.5,
    submissions="hand ins/#1: 'ä'",
    minutes=45,
)
PLAIN = Choices(NOWHERE, STUB)
CHOICES = pytest.mark.parametrize("choices", [PLAIN, ODD], ids=["plain", "odd"])


def write(folder: Path, choices: Choices, service: str) -> Path:
    """Write a recipe below a folder and return its file."""
    files = {"github": github_files, "gitlab": gitlab_files}[service](choices)
    name, content = next(iter(files.items()))
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def validate(*words: str) -> None:
    """Check files against a schema that check-jsonschema carries; it does not ask a server."""
    program = "from check_jsonschema import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program, *words], capture_output=True, text=True, timeout=60
    )
    assert 0 == done.returncode, done.stdout + done.stderr


@CHOICES
def test_the_workflow_keeps_to_the_published_schema(tmp_path: Path, choices: Choices) -> None:
    path = write(tmp_path, choices, "github")
    validate("--builtin-schema", "vendor.github-workflows", str(path))


@CHOICES
def test_the_pipeline_keeps_to_the_published_schema(tmp_path: Path, choices: Choices) -> None:
    path = write(tmp_path, choices, "gitlab")
    schema = ("--builtin-schema", "vendor.gitlab-ci", "--data-transform", "gitlab-ci")
    validate(*schema, str(path))


def test_the_projects_own_workflows_keep_to_it_too() -> None:
    paths = sorted((ROOT / ".github/workflows").glob("*.yml"))
    names = ["ci.yml", "grade.yml", "nightly.yml", "publish.yml"]
    assert names == [path.name for path in paths]
    validate("--builtin-schema", "vendor.github-workflows", *map(str, paths))


@pytest.mark.parametrize("service", ["github", "gitlab"])
def test_what_is_chosen_arrives_as_it_is(tmp_path: Path, service: str) -> None:
    document = load(write(tmp_path, ODD, service))
    values = document["env"] if service == "github" else document["grade"]["variables"]
    expected = {
        "GRADER_ASSIGNMENT": ODD.assignment,
        "GRADER_COURSE": "",
        "GRADER_LOCK": ".grader",
        "GRADER_CHECKOUT": "",
        "GRADER_SUBMISSIONS": f"{ODD.submissions}/**/*.ipynb",
        "GRADER_THRESHOLD": "7.5",
    }
    assert expected == {key: values[key] for key in expected}


def workflows(folder: Path) -> Iterator[Any]:
    """Yield the recipe's workflow and the project's own ones; test_publishing has another."""
    yield load(write(folder, PLAIN, "github"))
    own = (path for path in (ROOT / ".github/workflows").glob("*.yml"))
    yield from (load(path) for path in own if path.name != "publish.yml")


class TestWorkflow:
    """GitHub Actions."""

    def test_actions_are_pinned_to_commits(self, tmp_path: Path) -> None:
        used = [
            step["uses"]
            for document in workflows(tmp_path)
            for job in document["jobs"].values()
            for step in job["steps"]
            if "uses" in step
        ]
        assert used
        assert [] == [use for use in used if not re.fullmatch(r"actions/[a-z-]+@[0-9a-f]{40}", use)]

    def test_the_token_may_read_and_nothing_else(self, tmp_path: Path) -> None:
        for document in workflows(tmp_path):
            assert {"contents": "read"} == document["permissions"]
            assert all("permissions" not in job for job in document["jobs"].values())

    def test_no_credentials_are_left_for_later_steps(self, tmp_path: Path) -> None:
        for document in workflows(tmp_path):
            for job in document["jobs"].values():
                (checkout,) = (s for s in job["steps"] if "actions/checkout@" in s.get("uses", ""))
                assert checkout["with"]["persist-credentials"] is False

    def test_jobs_end(self, tmp_path: Path) -> None:
        for document in workflows(tmp_path):
            assert all(0 < int(job["timeout-minutes"]) for job in document["jobs"].values())
            assert document["concurrency"]

    def test_commands_hold_no_expression(self, tmp_path: Path) -> None:
        """GitHub puts an expression's value into the text of a script: whoever chooses it, runs."""
        for document in workflows(tmp_path):
            for job in document["jobs"].values():
                assert [] == [step for step in job["steps"] if "${{" in step.get("run", "")]

    def test_what_the_nightly_searches_said_is_kept_whatever_they_found(self) -> None:
        document = load(ROOT / ".github/workflows/nightly.yml")
        steps = document["jobs"]["search"]["steps"]
        (searching,) = (at for at, e in enumerate(steps) if "make nightly" in e.get("run", ""))
        (keeping,) = (at for at, e in enumerate(steps) if "upload-artifact@" in e.get("uses", ""))
        assert searching < keeping
        assert ("always()", "build/nightly") == (
            steps[keeping]["if"],
            steps[keeping]["with"]["path"],
        )

    def test_only_pages_are_kept(self, tmp_path: Path) -> None:
        """The reports themselves hold the seed and hidden checks."""
        steps = load(write(tmp_path, PLAIN, "github"))["jobs"]["grade"]["steps"]
        kept = [s["with"]["path"] for s in steps if "upload-artifact@" in s.get("uses", "")]
        assert ["${{ runner.temp }}/pages"] == kept

    def test_what_is_cached_is_what_is_installed(self, tmp_path: Path) -> None:
        steps = load(write(tmp_path, PLAIN, "github"))["jobs"]["grade"]["steps"]
        (paths,) = (s["with"]["path"] for s in steps if "actions/cache@" in s.get("uses", ""))
        (install,) = (s["run"] for s in steps if s["name"] == "Install the grader")
        assert ["~/.grader-environment", "~/.cache/grader"] == paths.split()
        assert "environment=$HOME/.grader-environment/" in install

    def test_another_grader_is_cached_under_another_key(self, tmp_path: Path) -> None:
        keys = {
            step["with"]["key"]
            for install in (STUB, Wheel(STUB.name, b"another"))
            for step in load(write(tmp_path, Choices(NOWHERE, install), "github"))["jobs"]["grade"][
                "steps"
            ]
            if "actions/cache@" in step.get("uses", "")
        }
        assert 2 == len(keys)
        assert not any("," in key for key in keys)


class TestLeaderboard:
    """GitHub Actions that publish ranks."""

    @pytest.mark.parametrize(
        "choices",
        [
            BoardChoices(NOWHERE, STUB),
            BoardChoices(NOWHERE, STUB, Path("re ports: #1"), Path("'ä'.csv"), "x: no", "AMD #1"),
        ],
        ids=["plain", "odd"],
    )
    def test_it_keeps_to_the_published_schema_and_has_what_is_chosen(
        self, tmp_path: Path, choices: BoardChoices
    ) -> None:
        document = board(tmp_path, choices)
        validate("--builtin-schema", "vendor.github-workflows", str(tmp_path / LEADERBOARD))
        found = document["env"]
        assert choices.reports.as_posix() == found["GRADER_REPORTS"]
        assert (choices.machine, choices.assignment or "") == (
            found["GRADER_MACHINE"],
            found["GRADER_ASSIGNMENT"],
        )
        pushed = [f"{choices.reports.as_posix()}/**", choices.consent.as_posix()]
        assert pushed == document["on"]["push"]["paths"]

    def test_only_what_runs_no_command_may_write_and_that_only_pages(self, tmp_path: Path) -> None:
        document = board(tmp_path)
        assert {"contents": "read"} == document["permissions"]
        jobs = document["jobs"]
        assert "permissions" not in jobs["board"]
        assert {"pages": "write", "id-token": "write"} == jobs["publish"]["permissions"]
        assert ["uses"] == [key for key in ("uses", "run") if key in jobs["publish"]["steps"][0]]
        assert all("uses" in each for each in jobs["publish"]["steps"])

    def test_actions_are_pinned_jobs_end_and_commands_hold_no_expression(
        self, tmp_path: Path
    ) -> None:
        jobs = board(tmp_path)["jobs"].values()
        steps = [step for job in jobs for step in job["steps"]]
        used = [step["uses"] for step in steps if "uses" in step]
        assert 5 == len(used)
        assert [] == [use for use in used if not re.fullmatch(r"actions/[a-z-]+@[0-9a-f]{40}", use)]
        assert all(0 < int(job["timeout-minutes"]) for job in jobs)
        assert [] == [step for step in steps if "${{" in step.get("run", "")]
        assert steps[0]["with"]["persist-credentials"] is False

    @pytest.mark.parametrize("path", ["/etc", "../reports"])
    def test_what_is_not_in_the_repository_is_refused(self, path: str) -> None:
        with pytest.raises(UsageError, match="is not in the repository"):
            leaderboard_files(BoardChoices(NOWHERE, STUB, reports=Path(path)))


class TestPipeline:
    """GitLab."""

    def test_cached_folders_are_in_the_project_and_the_ones_that_are_used(
        self, tmp_path: Path
    ) -> None:
        job = load(write(tmp_path, PLAIN, "gitlab"))["grade"]
        assert [".cache/pip", ".cache/grader"] == job["cache"]["paths"]
        assert "$CI_PROJECT_DIR/.cache/pip" == job["variables"]["PIP_CACHE_DIR"]
        assert "$CI_PROJECT_DIR/.cache" == job["variables"]["XDG_CACHE_HOME"]

    def test_only_pages_are_kept_and_always(self, tmp_path: Path) -> None:
        artifacts = load(write(tmp_path, PLAIN, "gitlab"))["grade"]["artifacts"]
        assert ["pages"] == artifacts["paths"]
        assert {"junit": "pages/**/*.xml"} == artifacts["reports"]
        assert "always" == artifacts["when"]

    def test_a_push_that_changes_no_submission_starts_no_job(self, tmp_path: Path) -> None:
        rules = load(write(tmp_path, PLAIN, "gitlab"))["grade"]["rules"]
        assert [["submissions/**/*.ipynb"], "never", ["submissions/**/*.ipynb"]] == [
            rule.get("changes", rule.get("when")) for rule in rules
        ]


def scripts(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield a name and the text of every shell script in the recipes."""
    for number, step in enumerate(load(write(folder, PLAIN, "github"))["jobs"]["grade"]["steps"]):
        if "run" in step:
            yield f"github-{number}", f"#!/bin/bash -e\n{step['run']}"
    for number, step in enumerate(board(folder)["jobs"]["board"]["steps"]):
        if "run" in step:
            yield f"leaderboard-{number}", f"#!/bin/bash -e\n{step['run']}"
    job = load(write(folder, PLAIN, "gitlab"))["grade"]
    yield "gitlab", "\n".join(["#!/bin/bash -e", *job["before_script"], *job["script"]])
    ((_, content),) = gradescope_files(course(folder)).items()
    unpack(content, folder / "archive")
    for name in ("setup.sh", "run_autograder"):
        yield name, (folder / "archive" / name).read_text()


def board(folder: Path, choices: BoardChoices = BoardChoices(NOWHERE, STUB)) -> Any:  # noqa: B008
    """Write the workflow that publishes ranks, and return what is in it."""
    path = folder / LEADERBOARD
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(leaderboard_files(choices)[LEADERBOARD])
    return load(path)


def course(folder: Path) -> Choices:
    """Return choices for a folder with the small course, which may be graded as root."""
    repository = Repository(folder)
    repository.add_course()
    return Choices(repository.path, STUB)


def test_a_shell_checker_finds_nothing(tmp_path: Path) -> None:
    paths = []
    for name, text in scripts(tmp_path):
        path = tmp_path / f"{name}.bash"
        path.write_text(text)
        paths.append(path)
    assert 12 <= len(paths)
    assert SHELLCHECK is not None
    done = subprocess.run([SHELLCHECK, *paths], capture_output=True, text=True, timeout=60)
    assert "" == done.stdout


def test_nothing_is_fetched_but_from_the_index_of_pytorch_by_name(tmp_path: Path) -> None:
    addresses = {
        address
        for _, text in scripts(tmp_path)
        for address in re.findall(r"https?://[^\s\"']+", text)
    }
    texts = [write(tmp_path, PLAIN, service).read_text() for service in ("github", "gitlab")]
    addresses |= {each for text in texts for each in re.findall(r"https?://[^\s\"']+", text)}
    assert {"https://download.pytorch.org/whl/cpu"} == addresses


def test_the_project_grades_its_examples_by_its_own_recipe() -> None:
    """If it is stale: grader ci init github --submissions examples --install . --force"""
    choices = Choices(ROOT, Checkout("."), submissions="examples")
    assert {GITHUB: (ROOT / GITHUB).read_bytes()} == github_files(choices)


def test_recipes_have_the_names_that_services_look_for() -> None:
    assert (".github/workflows/grade.yml", ".gitlab-ci.yml") == (str(GITHUB), str(GITLAB))


def installing(text: str) -> list[set[str]]:
    """Return the words of every command of a script that installs, but for paths."""
    joined = text.replace("\\\n", " ")
    found = re.findall(r'bin/pip" install ([^\n)]*)', joined)
    return [set(re.findall(r"--[\w-]+(?: https\S+)?", line)) - _IMMATERIAL for line in found]


_IMMATERIAL = {"--quiet", "--no-cache-dir"}


def test_all_services_install_the_same_way(tmp_path: Path) -> None:
    """That of GitHub is run by test_installed.py."""
    found = {name: installing(text) for name, text in scripts(tmp_path)}
    github, ranks = (
        lines for name, lines in found.items() if name.startswith(("github", "leader")) and lines
    )
    by_processors = "--index-url https://download.pytorch.org/whl/cpu"
    pytorch = {"--no-deps", by_processors, "--requirement"}
    locked = {"--no-deps", "--require-hashes", "--requirement"}
    assert [pytorch, locked, {"--no-deps"}] == github == found["gitlab"] == ranks
    assert [pytorch, locked] == found["setup.sh"]


@pytest.mark.parametrize(
    "recipe", ["github.yml", "gitlab.yml", "leaderboard.yml", "notebooks.sh", "setup.sh"]
)
def test_no_module_of_a_branch_makes_the_environment(tmp_path: Path, recipe: str) -> None:
    """`python3 -m venv` runs a `venv.py` of the checkout, outside of the sandbox."""
    lines = (ROOT / "grader" / "ci" / recipe).read_text().splitlines()
    (making,) = (each.strip() for each in lines if "-m venv" in each)
    programs, branch = tmp_path / "bin", tmp_path / "branch"
    programs.mkdir()
    branch.mkdir()
    python = programs / "python3"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@" --without-pip\n')
    python.chmod(0o755)
    (branch / "venv.py").write_text('open("ran", "w")\n')
    environment = {
        "PATH": f"{programs}:{os.environ['PATH']}",
        "environment": str(tmp_path / "made"),
    }
    subprocess.run(["bash", "-c", making], cwd=branch, env=environment, check=True, timeout=60)
    assert ([branch / "venv.py"], True) == (
        [*branch.iterdir()],
        (tmp_path / "made" / "pyvenv.cfg").exists(),
    )
