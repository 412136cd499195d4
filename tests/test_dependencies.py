"""Every dependency is locked, explained, and free of anything that holds on one machine only."""

from __future__ import annotations

import platform
import re
import runpy
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from grader.environment import FOR_GRADING

ROOT = Path(__file__).parents[1]
TOOL: dict[str, Any] = runpy.run_path(str(ROOT / "tools" / "make_lock.py"))
DIRECT: list[Requirement] = TOOL["project_requirements"]()
LINES = [Requirement(line) for line in (ROOT / "constraints.txt").read_text().splitlines()[1:]]
LINUX = {"sys_platform": "linux", "platform_system": "Linux", "os_name": "posix"}


def environment(full: str) -> dict[str, str]:
    """Return the values of markers under a Python."""
    minor = ".".join(full.split(".")[:2])
    return {**LINUX, "python_version": minor, "python_full_version": full}


def locked(full: str) -> dict[str, str]:
    """Return the locked version of each package for a Python."""
    found = environment(full)
    lines = [each for each in LINES if each.marker is None or each.marker.evaluate(found)]
    versions = {each.name: next(iter(each.specifier)).version for each in lines}
    assert len(lines) == len(versions), "two versions of one package"
    return versions


def installed_needs() -> dict[str, str]:
    """Return the version of each distribution that the project needs here, directly or not."""
    found: dict[str, str] = {}
    done: set[tuple[str, str]] = set()
    waiting = [(requirement, "") for requirement in DIRECT]
    while waiting:
        requirement, extra = waiting.pop()
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": extra}):
            continue
        name = canonicalize_name(requirement.name)
        found.setdefault(name, metadata.version(requirement.name).partition("+")[0])
        for wanted in {"", *requirement.extras} - {each for who, each in done if who == name}:
            done.add((name, wanted))
            waiting += [(Requirement(line), wanted) for line in metadata.requires(name) or ()]
    return found


class TestConstraints:
    """constraints.txt. If it is stale: python tools/make_lock.py"""

    @pytest.mark.parametrize("python", ["3.11.2", *(f"{each}.20" for each in TOOL["PYTHONS"])])
    def test_direct_dependencies_are_locked_within_their_bounds(self, python: str) -> None:
        versions = locked(python)
        marks = environment(python)
        wanted = [each for each in DIRECT if each.marker is None or each.marker.evaluate(marks)]
        assert [] == [
            str(each)
            for each in wanted
            if not each.specifier.contains(versions[canonicalize_name(each.name)])
        ]

    def test_this_environment_has_the_locked_versions(self) -> None:
        """PyTorch's build for GPUs needs more packages; its own metadata pin them."""
        found = installed_needs()
        ours = {name for name in found if not name.startswith(TOOL["_OF_GPUS"])}
        versions = locked(platform.python_version())
        expected = {name: versions.get(name) for name in ours - {*TOOL["INSTALLERS"]}}
        assert expected == {name: found[name] for name in expected}

    def test_installers_and_the_project_itself_are_not_locked(self) -> None:
        names = {each.name for each in LINES}
        assert names.isdisjoint({*TOOL["INSTALLERS"], "grader", "tvm-grader"})

    def test_versions_are_exact_and_have_no_build_label(self) -> None:
        """A label as "+cpu" would refuse the same version from another index."""
        shape = re.compile(r"==\d[\w.]*")
        assert [] == [str(each) for each in LINES if not shape.fullmatch(str(each.specifier))]


class TestExplanations:
    """docs/dependencies.md"""

    def test_it_has_one_line_for_each_direct_dependency_and_none_besides(self) -> None:
        page = (ROOT / "docs" / "dependencies.md").read_text()
        explained = re.findall(r"^\| `([\w-]+)` \| .{10,} \|$", page, re.MULTILINE)
        assert sorted(explained) == sorted(requirement.name for requirement in DIRECT)


class TestExtras:
    """What the self-check in a student's notebook needs, and what grading needs besides."""

    PROJECT = TOOL["tomllib"].loads((ROOT / "pyproject.toml").read_text())["project"]

    def names(self, lines: list[str]) -> set[str]:
        return {Requirement(line).name for line in lines}

    def test_grading_says_of_each_package_of_its_extra_that_it_is_missing(self) -> None:
        extra = self.names(self.PROJECT["optional-dependencies"]["grading"])
        assert set(FOR_GRADING.values()) == extra

    def test_the_self_check_fetches_no_other_pytorch_and_no_pictures(self) -> None:
        (torch,) = [each for each in DIRECT if each.name == "torch"]
        assert torch.specifier.contains("2.9.1")
        assert self.names(self.PROJECT["dependencies"]).isdisjoint(FOR_GRADING.values())

    def test_whoever_grades_has_one_version_of_pytorch(self) -> None:
        (exact,) = next(each for each in DIRECT if each.name == "torchvision").specifier
        assert "==" == exact.operator

    def test_work_on_the_project_has_what_grading_needs(self) -> None:
        assert "tvm-grader[grading]" in self.PROJECT["optional-dependencies"]["dev"]

    def test_who_is_told_to_install_the_wheel_for_grading_gets_the_extra(self) -> None:
        """SELFCHECK.md and docs/selfcheck.md tell students, who need less."""
        pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
        lines = [
            line
            for page in pages
            if page.name != "selfcheck.md"
            for line in page.read_text("utf-8").splitlines()
            if re.search(r"(pip install|uvx|uv tool install|pipx).*\.whl", line)
        ]
        assert [] == [line for line in lines if "[grading]" not in line]


class TestPackage:
    """pyproject.toml and the licence."""

    def test_the_licence_is_apache_2(self) -> None:
        text = (ROOT / "LICENSE").read_text()
        assert "Apache License\n                           Version 2.0, January 2004" in text
        assert "END OF TERMS AND CONDITIONS" in text

    def test_supported_pythons_are_those_of_the_tool(self) -> None:
        project = TOOL["tomllib"].loads((ROOT / "pyproject.toml").read_text())["project"]
        supported = SpecifierSet(project["requires-python"])
        minors = [f"3.{minor}" for minor in range(8, 20) if supported.contains(f"3.{minor}")]
        assert minors == list(TOOL["PYTHONS"])
