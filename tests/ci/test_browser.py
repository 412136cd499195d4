"""Recipes for notebooks in a browser: a release for students on Codespaces and on Binder."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import KernelManager

from grader.ci.browser import (
    PLACEHOLDER,
    PYTHON,
    BrowserChoices,
    Service,
    binder_files,
    button,
    codespaces_files,
)
from grader.ci.recipes import write_new
from grader.ci.wheel import Checkout
from grader.course import load_course
from grader.errors import UsageError
from grader.release.write import release_files, write_release
from tests.ci.repository import Repository
from tests.ci.test_recipes import SHELLCHECK, installing
from tests.ci.wheels import ROOT, STUB, build, make_environment, scratch

COMMON = {
    *("$schema", "name", "features", "overrideFeatureInstallOrder", "secrets", "forwardPorts"),
    *("portsAttributes", "otherPortsAttributes", "updateRemoteUserUID", "containerEnv"),
    *("containerUser", "mounts", "init", "privileged", "capAdd", "securityOpt", "remoteEnv"),
    *("remoteUser", "initializeCommand", "onCreateCommand", "updateContentCommand"),
    *("postCreateCommand", "postStartCommand", "postAttachCommand", "waitFor", "userEnvProbe"),
    *("hostRequirements", "customizations"),
}
OF_IMAGES = {"image", "runArgs", "appPort", "overrideCommand", "shutdownAction"}
OF_OTHERS = {"workspaceFolder", "workspaceMount"}
"""Properties of a devcontainer.json with an image, by the published schema."""

SIZE = re.compile(r"\d+([tgmk]b)?")


@pytest.fixture
def release(tmp_path: Path) -> Path:
    """A release of the small course."""
    repository = Repository(tmp_path)
    repository.add_course()
    repository.write("release.json")
    repository.write("templates/small.ipynb")
    return repository.path


def read_devcontainer(text: str) -> dict[str, Any]:
    """Read JSON with comments, which stand on lines of their own here."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("//")]
    found: dict[str, Any] = json.loads("\n".join(lines))
    return found


def devcontainers(release: Path) -> Iterator[dict[str, Any]]:
    """Yield the one for students, with a template and without, and that of this repository."""
    (release / "templates/small.ipynb").rename(release / "kept")
    for name in ("nothing", "templates/small.ipynb"):
        (release / "kept").exists() and (release / "kept").rename(release / name)
        files = codespaces_files(BrowserChoices(release, STUB))
        yield read_devcontainer(files[Path(".devcontainer/devcontainer.json")].decode())
        (release / name).rename(release / "kept")
    yield read_devcontainer((ROOT / ".devcontainer/devcontainer.json").read_text())


class TestDevcontainer:
    """What a codespace is made by."""

    def test_it_has_properties_of_the_published_schema_alone(self, release: Path) -> None:
        for found in devcontainers(release):
            assert set() == found.keys() - COMMON - OF_IMAGES - OF_OTHERS
            assert isinstance(found["onCreateCommand"], list)
            needs = found["hostRequirements"]
            assert {"cpus", "memory", "storage", "gpu"} >= needs.keys()
            assert isinstance(needs["cpus"], int)
            assert SIZE.fullmatch(needs["memory"]) and SIZE.fullmatch(needs.get("storage", "1"))
            assert all(isinstance(each, str) for each in found.get("remoteEnv", {}).values())

    def test_nobody_is_root_and_nothing_is_privileged(self, release: Path) -> None:
        for found in devcontainers(release):
            assert "vscode" == found["remoteUser"]
            assert set() == found.keys() & {"privileged", "capAdd", "runArgs", "securityOpt"}

    def test_the_template_is_opened(self, release: Path) -> None:
        opened = [e["customizations"].get("codespaces") for e in devcontainers(release)]
        assert [{"openFiles": []}, {"openFiles": ["templates/small.ipynb"]}, None] == opened

    def test_its_python_is_the_one_that_is_supported_and_named(self, release: Path) -> None:
        for found in devcontainers(release):
            assert found["image"].endswith(f"/devcontainers/python:{PYTHON}")

    def test_the_script_makes_the_environment_that_the_editor_uses(self, release: Path) -> None:
        files = codespaces_files(BrowserChoices(release, STUB))
        found = read_devcontainer(files[Path(".devcontainer/devcontainer.json")].decode())
        assert ["bash", ".devcontainer/setup.sh"] == found["onCreateCommand"]
        script = files[Path(".devcontainer/setup.sh")].decode()
        assert "environment=$HOME/.grader-environment\n" in script
        settings = found["customizations"]["vscode"]["settings"]
        expected = "/home/vscode/.grader-environment/bin/python"
        assert expected == settings["python.defaultInterpreterPath"]


class TestScript:
    """What installs, in a codespace and on Binder."""

    @pytest.mark.parametrize("service", ["codespaces", "binder"])
    def test_it_installs_what_is_locked_and_a_shell_checker_finds_nothing(
        self, release: Path, tmp_path: Path, service: Service
    ) -> None:
        script = scripts_of(release)[service]
        locked = {"--no-deps", "--require-hashes", "--requirement"}
        pytorch = "--index-url https://download.pytorch.org/whl/cpu"
        assert [{"--no-deps", pytorch, "--requirement"}, locked] == installing(script)
        assert "@@" not in script
        path = tmp_path / "script.bash"
        path.write_text(script)
        assert SHELLCHECK is not None
        done = subprocess.run([SHELLCHECK, path], capture_output=True, text=True, timeout=60)
        assert "" == done.stdout

    def test_no_module_of_a_repository_is_run_instead(self, release: Path) -> None:
        script = scripts_of(release)["binder"]
        assert {"-I"} == set(re.findall(r"python3?\"? (-\w)", script))

    def test_binder_has_the_files_that_it_looks_for(self, release: Path) -> None:
        files = binder_files(BrowserChoices(release, STUB))
        assert f"python-{PYTHON}\n".encode() == files[Path(".binder/runtime.txt")]
        assert files[Path(".binder/postBuild")].startswith(b"#!/usr/bin/env bash\n")


class TestChoices:
    """What is refused."""

    @pytest.mark.parametrize("make", [codespaces_files, binder_files])
    def test_a_course_with_solutions_is_refused(self, release: Path, make: Any) -> None:
        (release / "release.json").unlink()
        with pytest.raises(UsageError, match="not a release"):
            make(BrowserChoices(release, STUB))

    def test_an_assignment_must_be_in_the_release(self, release: Path) -> None:
        with pytest.raises(UsageError, match="'large'"):
            codespaces_files(BrowserChoices(release, STUB, "large"))

    def test_a_folder_cannot_be_installed(self, release: Path) -> None:
        with pytest.raises(UsageError, match="cannot install"):
            binder_files(BrowserChoices(release, Checkout(".")))

    @pytest.mark.parametrize(
        "repository", ["", "ada", "https://github.com/ada/x", "ada/x)", "ada/x/y", "-a/x", "a b/x"]
    )
    @pytest.mark.parametrize("service", ["codespaces", "binder"])
    def test_what_is_no_repository_makes_no_button(
        self, release: Path, repository: str, service: Service
    ) -> None:
        with pytest.raises(UsageError, match="not a repository"):
            button(BrowserChoices(release, STUB, repository=repository), service)


class TestButton:
    """What stands in a README."""

    def test_it_leads_to_a_codespace(self, release: Path) -> None:
        shown = button(BrowserChoices(release, STUB, repository="ada/course.1"), "codespaces")
        assert shown.endswith("](https://codespaces.new/ada/course.1?quickstart=1)")

    @pytest.mark.parametrize(
        ("template", "path"), [("small", "lab/tree/templates/small.ipynb"), ("other", "lab")]
    )
    def test_it_leads_to_the_template_on_binder(
        self, release: Path, template: str, path: str
    ) -> None:
        (release / "templates/small.ipynb").rename(release / f"templates/{template}.ipynb")
        shown = button(BrowserChoices(release, STUB, repository="ada/course"), "binder")
        address = urlsplit(shown.rpartition("](")[2].removesuffix(")"))
        assert ("mybinder.org", "/v2/gh/ada/course/HEAD") == (address.netloc, address.path)
        assert {"urlpath": [path]} == parse_qs(address.query)

    def test_nobody_s_repository_is_a_placeholder(self, release: Path) -> None:
        assert PLACEHOLDER in button(BrowserChoices(release, STUB), "codespaces")


class TestInstalled:
    """On a machine like Binder's, with a release of this course."""

    def test_the_self_check_answers_in_the_environment_that_was_made(self, tmp_path: Path) -> None:
        course, release = load_course(ROOT), tmp_path / "release"
        write_release(release, release_files(course, build(), None), course)
        choices = BrowserChoices(release, build(), "e2e-mlp")
        files = {release / name: content for name, content in binder_files(choices).items()}
        write_new(files, force=False)
        with scratch() as home:
            make_environment(home / ".grader-environment")
            variables = {"HOME": str(home), "NB_PYTHON_PREFIX": str(tmp_path / "jupyter")}
            done = subprocess.run(
                ["bash", ".binder/postBuild"],
                cwd=release,
                env={**os.environ, **variables, "PIP_NO_INDEX": "1"},
                capture_output=True,
                text=True,
                timeout=600,
            )
            assert 0 == done.returncode, done.stdout + done.stderr
            answer = ask(
                tmp_path / "jupyter", release / "templates", "%load_ext grader\n%grader parts"
            )
            assert "numpy" in answer.lower() or "part" in answer.lower()
            where = ask(tmp_path / "jupyter", release, "import grader; print(grader.__file__)")
            assert str(home) in where


def scripts_of(release: Path) -> dict[Service, str]:
    choices = BrowserChoices(release, STUB)
    return {
        "codespaces": codespaces_files(choices)[Path(".devcontainer/setup.sh")].decode(),
        "binder": binder_files(choices)[Path(".binder/postBuild")].decode(),
    }


def ask(prefix: Path, folder: Path, code: str) -> str:
    """Return what a kernel that was installed says to some code."""
    specs = KernelSpecManager(kernel_dirs=[str(prefix / "share/jupyter/kernels")])
    manager = KernelManager(kernel_name="python3", kernel_spec_manager=specs)
    manager.start_kernel(cwd=str(folder))
    client = manager.client()
    said: list[str] = []
    try:
        client.start_channels()
        client.wait_for_ready(timeout=120)
        client.execute_interactive(
            code, timeout=120, output_hook=lambda message: said.append(str(message["content"]))
        )
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    return "".join(said)
