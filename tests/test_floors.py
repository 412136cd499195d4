"""What stands apart imports nothing of the grader that belongs to the referee."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1] / "grader"


def imported(package: str) -> set[str]:
    """Return the modules that a package's files import, also those inside of functions."""
    names: set[str] = set()
    for path in (ROOT / package).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                names.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{path} imports relatively"
                names.add(node.module or "")
    return names


def of_the_grader(package: str) -> set[str]:
    """Return the packages of the grader that another one imports."""
    return {name.split(".")[1] for name in imported(package) if name.startswith("grader.")}


@pytest.mark.parametrize(
    ("package", "allowed"),
    [
        ("messages", {"messages"}),
        ("timing", {"messages", "timing"}),
        ("kernel", {"messages", "kernel", "runner", "launch"}),
        ("runner", {"messages", "timing", "kernel", "runner", "launch"}),
        ("launch", {"messages", "kernel", "runner", "launch"}),
    ],
)
def test_a_package_imports_of_the_grader_what_it_may(package: str, allowed: set[str]) -> None:
    assert "grader" not in imported(package)
    assert of_the_grader(package) <= allowed


def test_the_library_of_timing_needs_numpy_and_nothing_of_tvm() -> None:
    foreign = {name.split(".")[0] for name in imported("timing")} - set(sys.stdlib_module_names)
    assert {"grader", "msgspec", "numpy"} == foreign
