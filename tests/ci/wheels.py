"""The grader's wheel, built as `make wheel` builds it, and empty environments to install it in."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from grader.ci.wheel import Wheel

ROOT = Path(__file__).parents[2]
SECONDS = 900

STUB = Wheel("tvm_grader-0-py3-none-any.whl", b"wheel")
"""Stands for a wheel where nothing is installed."""

_PROJECT = ("grader", "pyproject.toml", "README.md", "LICENSE")


@cache
def build() -> Wheel:
    """Build the wheel of this checkout, in a copy: several tests may do so at a time."""
    with tempfile.TemporaryDirectory() as folder:
        for name in _PROJECT:
            copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
            copy(ROOT / name, Path(folder, name))
        options = ("--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--wheel-dir", ".")
        command = [sys.executable, "-m", "pip", "wheel", *options, "."]
        subprocess.run(command, cwd=folder, check=True, timeout=SECONDS)
        (path,) = Path(folder).glob("*.whl")
        return Wheel(path.name, path.read_bytes())


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    """Make a folder for environments, beside this one's files: others can read it as they do this.

    Files of one file system can be linked, which takes a second, and not copied, which takes many.
    """
    with tempfile.TemporaryDirectory(dir=sys.prefix, prefix="scratch-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def make_environment(folder: Path) -> None:
    """Make an environment that has what others wrote and this one has, and nothing of the grader.

    The registry need not be asked for it again.
    """
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True, timeout=SECONDS)
    source = Path(sysconfig.get_path("purelib"))
    (target,) = folder.glob("lib/python*/site-packages")
    for path in source.iterdir():
        if not _is_own(path.name) and not (target / path.name).exists():
            copy = shutil.copytree if path.is_dir() else _link
            copy(path, target / path.name, **({"copy_function": _link} if path.is_dir() else {}))


def _is_own(name: str) -> bool:
    return name.startswith(("grader", "tvm_grader", "__editable__", "scratch-", "pip"))


def _link(source: str | Path, target: str | Path) -> None:
    try:
        os.link(source, target)
    except OSError:  # another file system
        shutil.copy2(source, target)
