"""Write grader/ci/requirements.txt and torch.txt: what recipes install beside the grader.

requirements.txt has one version of everything for each supported Python, with the SHA-256 of every
file that the registry has of it. torch.txt has PyTorch, which recipes take from its own index of
builds for processors: that index is not asked here, so there are versions and no hashes.

Run it after tools/make_constraints.py, with `uv` on the path and a network.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
RECIPES = ROOT / "grader" / "ci"
OLDEST = "3.10"

PYTORCH = ("torch", "torchvision")
_OF_GPUS = ("nvidia-", "cuda-", "triton")

HEADER = "# Written by tools/make_lock.py. Exact versions with their hashes, for pip.\n"
TORCH_HEADER = (
    "# Written by tools/make_lock.py. From https://download.pytorch.org/whl/cpu, for pip.\n"
)


def needs_of(name: str) -> list[str]:
    """Return what a distribution needs without extras: PyTorch's build for processors."""
    lines = metadata.requires(name) or []
    found = [line for line in lines if "extra ==" not in line]
    return [line for line in found if not Requirement(line).name.startswith(_OF_GPUS)]


def settings() -> str:
    """Return the settings of uv: PyTorch as it is without GPUs.

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


def lock() -> str:
    """Return requirements.txt."""
    with tempfile.TemporaryDirectory() as folder:
        chosen, target = Path(folder, "uv.toml"), Path(folder, "lock.txt")
        chosen.write_text(settings(), encoding="utf-8")
        subprocess.run(["uv", *_options(chosen, target)], check=True, cwd=ROOT)
        return HEADER + target.read_text(encoding="utf-8")


def _options(chosen: Path, target: Path) -> Iterable[str]:
    yield from ("--config-file", str(chosen), "pip", "compile", "pyproject.toml", "--quiet")
    yield from ("--extra", "grading")
    yield from ("--constraint", "constraints.txt", "--python-version", OLDEST, "--universal")
    yield from ("--generate-hashes", "--no-annotate", "--no-header", "--output-file", str(target))
    for name in PYTORCH:
        yield from ("--no-emit-package", name)


def torch_lock() -> str:
    """Return torch.txt."""
    return TORCH_HEADER + "".join(f"{name}=={_version(name)}\n" for name in PYTORCH)


if __name__ == "__main__":
    if sys.platform != "linux":
        sys.exit("Recipes run on Linux: make their lock there.")
    (RECIPES / "requirements.txt").write_text(lock(), encoding="utf-8")
    (RECIPES / "torch.txt").write_text(torch_lock(), encoding="utf-8")
