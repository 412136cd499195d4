"""What pip calls this project, and that nothing here would fetch somebody else's `grader`."""

from __future__ import annotations

import re
import runpy
import shlex
import subprocess
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from grader.ci.wheel import DISTRIBUTION

ROOT = Path(__file__).parents[1]
TOOL = runpy.run_path(str(ROOT / "tools" / "make_lock.py"))
OTHER = "grader"
"""A package of the registry, which another project has put there."""

_COMMANDS = re.compile(
    r"(?:\bpip3?[\"']?\s+(?:install|download|wheel)|\bpipx\s+(?:install|run)|\buvx\b"
    r"|\buv\s+(?:add|tool\s+(?:install|run)|pip\s+install)|\bconda\s+install)(?P<rest>[^\n|;&]*)"
)
_LIST = re.compile(r"(constraints|requirements|torch).*\.txt$")
_FROM = re.compile(r"--(?:from|with)[= ](\S+)")


def is_other(word: str) -> bool:
    """Say whether pip would understand a word as the other package."""
    try:
        return canonicalize_name(Requirement(word.strip("\"'`,.()")).name) == OTHER
    except InvalidRequirement:
        return False


def fetched(text: str) -> Iterator[str]:
    """Yield the words of installing commands in a text that name the other package.

    `uvx --from X grader` runs the command of X; `uvx grader` fetches the package.
    """
    for match in _COMMANDS.finditer(text.replace("\\\n", " ")):
        named = _FROM.findall(match["rest"])
        words = named or re.split(r"\s+", match["rest"].split("#")[0].split("`")[0].strip())
        yield from (word for word in words if is_other(word))


def tracked() -> list[Path]:
    """Return the files of the repository that are text."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
    paths = [ROOT / name for name in listed.stdout.decode().split("\0") if name]
    kept = [path for path in paths if path.is_file() and path.suffix not in {".npz", ".bpf"}]
    return [path for path in kept if path != Path(__file__)]


@pytest.mark.parametrize(
    "text",
    [
        "pip install grader",
        "`pip install --quiet 'grader==1.2'`",
        '"$environment/bin/pip" install --quiet grader',
        "python -m pip install -U grader[dev]",
        "pip install \\\n    Grader",
        "uvx grader run hw.ipynb",
        "uv tool install grader",
        "pipx install grader",
    ],
)
def test_commands_that_fetch_it_are_recognised(text: str) -> None:
    assert list(fetched(text))


@pytest.mark.parametrize(
    "text",
    [
        "pip install tvm-grader",
        "pip install ./tvm_grader-0.1.0-py3-none-any.whl",
        "uvx --from ./tvm_grader-0.1.0-py3-none-any.whl grader run hw.ipynb",
        "pip install --requirement requirements.txt  # then call grader",
        "/opt/grader/bin/pip check && grader run",
    ],
)
def test_others_are_not(text: str) -> None:
    assert [] == list(fetched(text))


def test_no_command_in_the_repository_fetches_it() -> None:
    found = {
        str(path.relative_to(ROOT)): words
        for path in tracked()
        if (words := list(fetched(path.read_text("utf-8", "replace"))))
    }
    assert {} == found


def test_no_list_of_requirements_names_it() -> None:
    lists = [
        path
        for path in tracked()
        if re.search(r"(constraints|requirements|torch).*\.txt$", path.name)
    ]
    assert {"constraints.txt", "requirements.txt", "torch.txt"} == {path.name for path in lists}
    lines = [line for path in lists for line in path.read_text().splitlines()]
    names = [line.split(" ")[0].strip("\\") for line in lines if not line.startswith(("#", " "))]
    assert names
    assert [] == [name for name in names if is_other(name.partition(";")[0])]
    assert [] == [each for each in TOOL["project_requirements"]() if is_other(str(each))]


def test_the_distribution_has_a_name_of_its_own() -> None:
    project = TOOL["tomllib"].loads((ROOT / "pyproject.toml").read_text())["project"]
    assert DISTRIBUTION == project["name"]
    assert ["grader"] == list(project["scripts"])
    assert (
        "grader.cli.app:main"
        == metadata.entry_points(name="grader", group="console_scripts")["grader"].value
    )


@pytest.mark.parametrize("word", shlex.split("grader Grader GRADER grader==1.2 grader[x]>=1"))
def test_every_spelling_of_the_other_package_is_known(word: str) -> None:
    assert is_other(word)
