"""What a grading ran on, for the report: interpreter, processor and the versions that matter.

Nothing is imported to learn its version: importing TVM alone takes longer than a second.
"""

from __future__ import annotations

import importlib.util
import os
import platform
from collections.abc import Callable, Iterable
from importlib import metadata
from pathlib import Path

from grader.errors import UsageError
from grader.language import say
from grader.report import Environment

DISTRIBUTION = "tvm-grader"
"""What pip calls this grader. `grader` in the registry is somebody else's."""

FOR_GRADING = {
    "torchvision": "torchvision",
    "nbclient": "nbclient",
    "jupyter_client": "jupyter-client",
    "jupytext": "jupytext",
    "libcst": "libcst",
    "tomli_w": "tomli-w",
    "pytest": "pytest",
    "matplotlib": "matplotlib",
    "torchsummary": "torchsummary",
    "tabulate": "tabulate",
    "sqlalchemy": "sqlalchemy",
    "alembic": "alembic",
}
"""The distributions of the extra `grading`, by what is imported of them."""

PACKAGES = (
    "apache-tvm",
    "apache-tvm-ffi",
    "torch",
    "torchvision",
    "numpy",
    "nbclient",
    "ipykernel",
    "tvm-grader",
)
"""Distributions whose versions explain a result, in the order of the report."""

_PROCESSORS = Path("/proc/cpuinfo")
_MODEL_KEYS = ("model name", "cpu model", "Processor", "Hardware", "Model")


def describe_environment(
    *,
    read_processors: Callable[[], str] = _PROCESSORS.read_text,
    version_of: Callable[[str], str] = metadata.version,
    count_cores: Callable[[], int] | None = None,
) -> Environment:
    """Describe this machine and interpreter. A package that is not installed is left out.

    `read_processors` returns the text of /proc/cpuinfo or raises OSError, `version_of` is as
    `importlib.metadata.version`, `count_cores` returns the cores that this process may use.
    """
    return Environment(
        python=platform.python_version(),
        cpu=_processor_model(read_processors),
        cores=(count_cores or usable_cores)(),
        packages=_versions(version_of),
    )


def missing_for_grading() -> tuple[str, ...]:
    """Return the distributions of the extra `grading` that are not installed here."""
    return tuple(
        distribution
        for name, distribution in FOR_GRADING.items()
        if importlib.util.find_spec(name) is None
    )


def only_self_check(missing: Iterable[str]) -> UsageError:
    """Return the error of an installation without what grading needs.

    A notebook would be graded all the same, and lose all points where its imports fail.
    """
    return UsageError(
        say(
            "Only the self-check is installed here: grading needs {missing}, too.",
            missing=", ".join(missing),
        ),
        say("Install the same wheel with its extra: pip install 'FILE.whl[grading]'"),
    )


def _processor_model(read_processors: Callable[[], str]) -> str:
    try:
        text = read_processors()
    except OSError:  # not Linux
        text = ""
    fields: dict[str, str] = {}
    for line in text.splitlines():
        key, _, value = line.partition(":")
        fields.setdefault(key.strip(), " ".join(value.split()))
    models = (fields[key] for key in _MODEL_KEYS if fields.get(key))
    return next(models, "") or platform.processor() or platform.machine() or "unknown"


def usable_cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _versions(version_of: Callable[[str], str]) -> dict[str, str]:
    found = ((name, _version(name, version_of)) for name in PACKAGES)
    return {name: version for name, version in found if version is not None}


def _version(name: str, version_of: Callable[[str], str]) -> str | None:
    try:
        return version_of(name)
    except metadata.PackageNotFoundError:
        return None
