"""The image of the grader: what its file copies and runs."""

from __future__ import annotations

import fnmatch
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.ci.test_recipes import SHELLCHECK, installing

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "Containerfile").read_text(encoding="utf-8")
JOINED = re.sub(r"\\\n\s*", " ", re.sub(r"^\s*#.*\n", "", TEXT, flags=re.MULTILINE))
STEPS = [tuple(line.split(" ", 1)) for line in JOINED.splitlines() if line]
HADOLINT = shutil.which("hadolint", path=Path(sys.executable).parent)


def values(instruction: str) -> list[str]:
    return [value for name, value in STEPS if name == instruction]


def test_a_linter_of_such_files_finds_nothing() -> None:
    assert HADOLINT is not None
    done = subprocess.run(
        [HADOLINT, "--no-color", ROOT / "Containerfile"], capture_output=True, text=True, timeout=60
    )
    assert "" == done.stdout + done.stderr


def test_a_shell_checker_finds_nothing(tmp_path: Path) -> None:
    script = tmp_path / "steps.sh"
    arguments = [f"{value.split('=')[0]}=x" for value in values("ARG")]
    lines = ["#!/bin/sh", *(f"export {each}" for each in arguments), *values("RUN")]
    script.write_text("\n".join(lines) + "\n")
    assert SHELLCHECK is not None
    done = subprocess.run([SHELLCHECK, script], capture_output=True, text=True, timeout=60)
    assert "" == done.stdout


def test_what_it_copies_is_there_and_is_sent_to_the_builder() -> None:
    copied = [value.split()[:-1] for value in values("COPY") if not value.startswith("--from")]
    ignored, kept = ignore_lines()
    assert ["*", "**/__pycache__"] == ignored
    names = [name for each in copied for name in each]
    assert names
    assert [] == [name for name in names if not (ROOT / name).exists()]
    assert [] == [name for name in names if name.split("/")[0] not in kept]
    assert kept == {name.split("/")[0] for name in names}


def ignore_lines() -> tuple[list[str], set[str]]:
    text = (ROOT / ".dockerignore").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    kept = {line.removeprefix("!") for line in lines if line.startswith("!")}
    return [line for line in lines if not line.startswith("!")], kept


def test_it_installs_what_recipes_install() -> None:
    steps = "\n".join(values("RUN")).replace("/opt/grader/bin/pip install", '"/bin/pip" install')
    found = installing(steps.replace(" && ", "\n"))
    locked = {"--no-deps", "--require-hashes", "--requirement"}
    built = {"--no-deps", "--no-build-isolation", "--no-index"}
    assert [{"--no-deps", "--index-url", "--requirement"}, locked, built] == found
    assert ["TORCH_INDEX=https://download.pytorch.org/whl/cpu"] == [
        value for value in values("ARG") if value.startswith("TORCH_INDEX")
    ]


def test_what_builds_the_wheel_is_locked_too() -> None:
    """The last step fetches nothing: setuptools comes with a hash."""
    lock = (ROOT / "grader/ci/requirements.txt").read_text()
    (version,) = re.findall(r"^setuptools==(\d+)", lock, re.MULTILINE)
    project = (ROOT / "pyproject.toml").read_text()
    (least,) = re.findall(r'requires = \["setuptools>=(\d+)"\]', project)
    assert int(least) <= int(version)


def test_nobody_is_root_in_it() -> None:
    assert ["1000"] == values("USER")
    last = [name for name, _ in STEPS]
    assert last.index("USER") > max(at for at, name in enumerate(last) if name in {"RUN", "COPY"})


@pytest.mark.parametrize("name", ["class", ".venv", "gradebook.sqlite", ".git", "reports"])
def test_a_class_s_work_is_not_sent_to_the_builder(name: str) -> None:
    ignored, kept = ignore_lines()
    assert any(fnmatch.fnmatch(name, each) for each in ignored) and name not in kept
