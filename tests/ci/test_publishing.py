"""A release on a package index: its workflow, its two files, and what is said of it there."""

from __future__ import annotations

import re
import runpy
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.ci.services import load
from tests.ci.test_recipes import SHELLCHECK, installing, validate

ROOT = Path(__file__).parents[2]
WORKFLOW = ROOT / ".github/workflows/publish.yml"
TOOL: dict[str, Any] = runpy.run_path(str(ROOT / "tools" / "prepare_release.py"))
PUBLISHER = "pypa/gh-action-pypi-publish"

DOCUMENT = load(WORKFLOW)
JOBS: dict[str, Any] = DOCUMENT["jobs"]
STEPS = [step for job in JOBS.values() for step in job["steps"]]


class TestWorkflow:
    """publish.yml"""

    def test_it_keeps_to_the_published_schema(self) -> None:
        validate("--builtin-schema", "vendor.github-workflows", str(WORKFLOW))

    def test_a_tag_starts_it_and_nothing_else(self) -> None:
        assert {"push": {"tags": ["v*"]}} == DOCUMENT["on"]

    def test_only_the_job_that_runs_no_command_has_the_token(self) -> None:
        assert {"contents": "read"} == DOCUMENT["permissions"]
        assert [{"id-token": "write"}] == [
            job["permissions"] for job in JOBS.values() if "permissions" in job
        ]
        assert {"id-token": "write"} == JOBS["publish"]["permissions"]
        assert all("uses" in step for step in JOBS["publish"]["steps"])
        assert "secrets." not in WORKFLOW.read_text()

    def test_what_was_tried_is_what_is_published(self) -> None:
        assert ("build", "try") == (JOBS["try"]["needs"], JOBS["publish"]["needs"])
        fetched = [
            step["with"]
            for step in (*JOBS["try"]["steps"], *JOBS["publish"]["steps"])
            if "download-artifact@" in step.get("uses", "")
        ]
        assert [{"name": "dist", "path": "dist"}] * 2 == fetched

    def test_each_file_gets_an_attestation(self) -> None:
        (step,) = (step for step in STEPS if PUBLISHER in step.get("uses", ""))
        assert {"attestations": "true"} == {k: str(v).lower() for k, v in step["with"].items()}
        assert "pypi" == JOBS["publish"]["environment"]["name"]

    def test_actions_are_pinned_jobs_end_and_commands_hold_no_expression(self) -> None:
        used = [step["uses"] for step in STEPS if "uses" in step]
        pinned = re.compile(rf"(?:actions/[a-z-]+|{PUBLISHER})@[0-9a-f]{{40}}")
        assert [] == [use for use in used if not pinned.fullmatch(use)]
        assert all(0 < int(job["timeout-minutes"]) for job in JOBS.values())
        assert [] == [step for step in STEPS if "${{" in step.get("run", "")]
        checkouts = [step for step in STEPS if "actions/checkout@" in step.get("uses", "")]
        assert all(step["with"]["persist-credentials"] is False for step in checkouts)

    def test_the_wheel_is_tried_as_recipes_install_it(self) -> None:
        (script,) = (s["run"] for s in JOBS["try"]["steps"] if s["name"] == "Install the wheel")
        found = installing(script.replace("environment/bin/pip", '"environment/bin/pip"'))
        pytorch = "--index-url https://download.pytorch.org/whl/cpu"
        locked = {"--no-deps", "--require-hashes", "--requirement"}
        assert [{"--no-deps", pytorch, "--requirement"}, locked] == found[:2]
        assert {"--no-deps", "--no-index"} == found[2]

    def test_a_shell_checker_finds_nothing(self, tmp_path: Path) -> None:
        paths = []
        for number, step in enumerate(step for step in STEPS if "run" in step):
            path = tmp_path / f"{number}.bash"
            path.write_text(f"#!/bin/bash -e\n{step['run']}")
            paths.append(path)
        assert SHELLCHECK is not None
        done = subprocess.run([SHELLCHECK, *paths], capture_output=True, text=True, timeout=60)
        assert "" == done.stdout


class TestPreparing:
    """tools/prepare_release.py"""

    def test_a_tag_has_to_be_that_of_the_version(self, capsys: pytest.CaptureFixture[str]) -> None:
        project = (ROOT / "pyproject.toml").read_text()
        (version,) = re.findall(r'^version = "(.*)"$', project, re.MULTILINE)
        assert 0 == TOOL["main"](["--tag", f"v{version}"])
        assert 1 == TOOL["main"](["--tag", "v9.9"])
        assert "The tag is v9.9" in capsys.readouterr().out

    def test_links_of_the_readme_lead_into_the_repository(self, tmp_path: Path) -> None:
        shutil.copy(ROOT / "README.md", tmp_path)
        address = "https://example.org/me/grader/blob/v1"
        assert 0 == TOOL["main"](["--repository", address], tmp_path)
        text = (tmp_path / "README.md").read_text()
        links = re.findall(r"\]\(([^)\s]+)\)", text)
        assert all(re.match("https://", link) for link in links)
        for link in re.findall(re.escape(address) + r"/([^)?#\s]+)", text):
            assert (ROOT / link).exists(), link
        assert f"({address}/docs/images/report.png?raw=true)" in text

    def test_what_is_no_relative_link_stays(self) -> None:
        text = "[a](https://example.org) [b](#here) `c[0](d)`"
        assert text.replace("(d)", "(x/d)") == TOOL["with_links"](text, "x")


class Built:
    """Both files, as `python -m build` makes them of what git has."""

    def __init__(self, folder: Path) -> None:
        listed = subprocess.run(
            ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True
        )
        for name in filter(None, listed.stdout.decode().split("\0")):
            if (ROOT / name).is_file():
                (folder / "source" / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, folder / "source" / name)
        words = ("-m", "build", "--no-isolation", "--outdir", str(folder / "dist"))
        command = [sys.executable, *words, str(folder / "source")]
        done = subprocess.run(command, capture_output=True, text=True, timeout=900)
        assert 0 == done.returncode, done.stdout + done.stderr
        (self.wheel,) = (folder / "dist").glob("*.whl")
        (self.archive,) = (folder / "dist").glob("*.tar.gz")

    def in_wheel(self) -> set[str]:
        with zipfile.ZipFile(self.wheel) as wheel:
            return {name for name in wheel.namelist() if name.startswith("grader/")}

    def in_archive(self) -> set[str]:
        with tarfile.open(self.archive) as archive:
            names = [each.name.partition("/")[2] for each in archive.getmembers() if each.isfile()]
        return set(names)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    return Built(tmp_path_factory.mktemp("built"))


class TestFiles:
    """The source archive and the wheel that is built from it."""

    def test_an_index_shows_what_is_said_of_them(self, built: Built) -> None:
        words = ("-m", "twine", "check", "--strict", str(built.wheel), str(built.archive))
        done = subprocess.run([sys.executable, *words], capture_output=True, text=True, timeout=300)
        assert 0 == done.returncode, done.stdout + done.stderr
        assert 2 == done.stdout.count("PASSED")

    def test_the_archive_holds_what_builds_the_wheel_and_nothing_of_the_course(
        self, built: Built
    ) -> None:
        kept = {name for name in built.in_archive() if not name.startswith("tvm_grader.egg-info/")}
        top = {"CHANGELOG.md", "LICENSE", "MANIFEST.in", "PKG-INFO", "README.md", "pyproject.toml"}
        assert top | {"setup.cfg"} == {name for name in kept if "/" not in name}
        assert {"grader"} == {name.split("/")[0] for name in kept if "/" in name}

    def test_the_wheel_has_every_file_of_the_package(self, built: Built) -> None:
        listed = subprocess.run(
            ["git", "ls-files", "-z", "grader"], cwd=ROOT, capture_output=True, check=True
        )
        assert set(filter(None, listed.stdout.decode().split("\0"))) == built.in_wheel()
