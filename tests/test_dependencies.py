"""Every dependency is locked, explained, and free of anything that holds on one machine only."""

from __future__ import annotations

import re
import runpy
import sys
from email.message import Message
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from grader.environment import FOR_GRADING

ROOT = Path(__file__).parents[1]
TOOL: dict[str, Any] = runpy.run_path(str(ROOT / "tools" / "make_constraints.py"))
DIRECT: list[Requirement] = TOOL["project_requirements"]()
LINES = (ROOT / "constraints.txt").read_text().splitlines()[1:]
LOCKED = {requirement.name: requirement for requirement in map(Requirement, LINES)}


class Installed(metadata.Distribution):
    """A distribution that needs what it is told."""

    def __init__(self, version: str, requires_python: str | None) -> None:
        self._message = Message()
        self._message["Version"] = version
        if requires_python is not None:
            self._message["Requires-Python"] = requires_python

    @property
    def metadata(self) -> Any:
        return self._message

    def read_text(self, filename: str) -> str | None:
        return None

    def locate_file(self, path: object) -> Any:
        raise NotImplementedError


class TestConstraints:
    """constraints.txt. If it is stale: python tools/make_constraints.py"""

    def test_every_direct_dependency_is_locked_within_its_bounds(
        self, subtests: pytest.Subtests
    ) -> None:
        """But for those that only some versions of Python need: pip resolves them."""
        for requirement in (each for each in DIRECT if each.marker is None):
            with subtests.test(str(requirement)):
                lock = LOCKED[canonicalize_name(requirement.name)]
                (exact,) = lock.specifier
                assert requirement.specifier.contains(exact.version)

    @pytest.mark.skipif(
        sys.version_info < (3, 11) or sys.platform != "linux",
        reason="what only another Python or system needs is left to pip",
    )
    def test_every_indirect_dependency_is_locked(self) -> None:
        """PyTorch's build for GPUs needs more, which is left to pip too."""
        needed = TOOL["closure"](DIRECT).keys() - TOOL["INSTALLERS"]
        for_gpus = {name for name in needed if name.startswith(("nvidia-", "cuda-", "triton"))}
        assert needed - for_gpus <= LOCKED.keys()

    def test_a_line_is_a_name_an_exact_version_and_at_most_a_bound_of_python(self) -> None:
        shape = r'[a-z0-9]+(-[a-z0-9]+)*==\d[\w.]*(; python_(full_)?version >= "3\.1[12](\.\d+)?")?'
        assert [line for line in LINES if not re.fullmatch(shape, line)] == []

    def test_lines_are_sorted_and_unique(self) -> None:
        assert sorted(set(LOCKED)) == [Requirement(line).name for line in LINES]

    def test_installers_and_the_project_itself_are_not_locked(self) -> None:
        assert LOCKED.keys().isdisjoint({"pip", "setuptools", "wheel", "grader"})

    @pytest.mark.parametrize(
        ("version", "requires_python", "line"),
        [
            ("2.13.0+cpu", ">=3.10", "a==2.13.0"),
            ("1.0", None, "a==1.0"),
            ("1.0", ">=3.9,!=3.9.7", "a==1.0"),
            ("0.27.0.post1", ">=3.11", 'a==0.27.0.post1; python_version >= "3.11"'),
            ("1.0", ">=3.12", 'a==1.0; python_version >= "3.12"'),
            ("1.0", ">=3.11.5", 'a==1.0; python_full_version >= "3.11.5"'),
        ],
    )
    def test_a_version_has_no_build_label_and_a_marker_where_it_needs_one(
        self, version: str, requires_python: str | None, line: str
    ) -> None:
        lines = TOOL["constraint_lines"]({"a": Installed(version, requires_python)})
        assert [line] == list(lines)


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
