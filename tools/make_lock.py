"""Write the locks: constraints.txt for this checkout; requirements.txt and torch.txt for recipes.

constraints.txt has all packages of all extras, for every supported Python. `make setup` gives it to
the installer. grader/ci/requirements.txt has what grading needs, at the same versions, with the
SHA-256 of every file in the registry. grader/ci/torch.txt has PyTorch, which recipes take from its
own index of CPU builds: that index is not asked here, so it has versions without hashes.

Locked versions stay as they are; `--upgrade` takes newer ones. The tool needs `uv` on the path, a
network, and an environment with PyTorch installed.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # type: ignore[import-not-found,unused-ignore]

ROOT = Path(__file__).parents[1]
CONSTRAINTS = ROOT / "constraints.txt"
RECIPES = ROOT / "grader" / "ci"
PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
"""Supported versions of Python, from the oldest."""

PYTORCH = ("torch", "torchvision")
INSTALLERS = ("pip", "setuptools", "wheel")
"""A new environment brings them, or has none of them: their versions are left to the installer."""

_OF_GPUS = ("nvidia-", "cuda-", "triton")

_BY = "# Written by tools/make_lock.py."
CONSTRAINTS_HEADER = f"{_BY} Exact versions of all dependencies, for pip -c.\n"
HEADER = f"{_BY} Exact versions with their hashes, for pip.\n"
TORCH_HEADER = f"{_BY} From https://download.pytorch.org/whl/cpu, for pip.\n"


def project_requirements(path: Path = ROOT / "pyproject.toml") -> list[Requirement]:
    """Return the direct dependencies, including those of all extras."""
    project = tomllib.loads(path.read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"].values()
    lines = [line for each in (project["dependencies"], *extras) for line in each]
    found = map(Requirement, lines)
    return [each for each in found if each.name != project["name"]]  # an extra with another one


def needs_of(name: str) -> list[str]:
    """Return the requirements of a distribution's CPU build, without extras."""
    lines = metadata.requires(name) or []
    found = [line for line in lines if "extra ==" not in line]
    return [line for line in found if not Requirement(line).name.startswith(_OF_GPUS)]


def settings() -> str:
    """Return uv's settings: PyTorch's requirements without GPUs.

    The registry's PyTorch for Linux needs gigabytes for GPUs, which would be locked too.
    """
    lines: list[str] = []
    for name in PYTORCH:
        lines += [
            "[[dependency-metadata]]",
            f"name = {json.dumps(name)}",
            f"version = {json.dumps(_version(name))}",
            f"requires-dist = {json.dumps(needs_of(name))}",
        ]
    return "".join(f"{line}\n" for line in lines)


def _version(name: str) -> str:
    return metadata.version(name).partition("+")[0]  # without "+cpu"


def compiled(options: Sequence[str], before: str = "") -> str:
    """Return what uv chooses for every supported Python, preferring the versions of `before`."""
    with tempfile.TemporaryDirectory() as folder:
        chosen, target = Path(folder, "uv.toml"), Path(folder, "lock.txt")
        chosen.write_text(settings(), encoding="utf-8")
        target.write_text(before, encoding="utf-8")
        words = ("--config-file", str(chosen), "pip", "compile", "pyproject.toml", "--quiet")
        subprocess.run(
            ["uv", *words, *_OPTIONS, *options, "--output-file", str(target)], check=True, cwd=ROOT
        )
        return target.read_text(encoding="utf-8")


_OPTIONS = ("--python-version", PYTHONS[0], "--universal", "--no-annotate", "--no-header")


def constraints(*, upgrade: bool) -> str:
    """Return constraints.txt."""
    before = "" if upgrade else CONSTRAINTS.read_text(encoding="utf-8")
    return CONSTRAINTS_HEADER + compiled(["--all-extras", *_without(INSTALLERS)], before)


def lock() -> str:
    """Return requirements.txt, at the versions of constraints.txt."""
    options = ("--extra", "grading", "--constraint", "constraints.txt", "--generate-hashes")
    return HEADER + compiled([*options, *_without(PYTORCH)])


def _without(names: Sequence[str]) -> Iterator[str]:
    return (word for name in names for word in ("--no-emit-package", name))


def torch_lock() -> str:
    """Return torch.txt."""
    return TORCH_HEADER + "".join(f"{name}=={_version(name)}\n" for name in PYTORCH)


if __name__ == "__main__":
    if sys.platform != "linux":
        sys.exit("Recipes run on Linux: make their lock there.")
    CONSTRAINTS.write_text(constraints(upgrade="--upgrade" in sys.argv), encoding="utf-8")
    (RECIPES / "requirements.txt").write_text(lock(), encoding="utf-8")
    (RECIPES / "torch.txt").write_text(torch_lock(), encoding="utf-8")
