"""What is installed here: for the report, and for the imports that a notebook begins with.

Nothing is imported to learn its version: importing TVM alone takes longer than a second.

A script that is one of several files, or the blocks of a blog, has lost its first cell, the
imports. The text of those is the course's: nothing of a submission is parsed here.
"""

from __future__ import annotations

import ast
import functools
import importlib.util
import os
import platform
import re
from collections.abc import Callable, Iterable
from importlib import metadata
from pathlib import Path

from grader.errors import UsageError
from grader.language import NOTHING, Text, say
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

FOR_MARKING = ("starlette", "uvicorn")
"""The distributions of the extra `marking`, which are called as what is imported of them."""

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


def need_for_grading() -> None:
    """Raise UsageError where the extra `grading` is not installed."""
    if missing := missing_for_grading():
        raise only_self_check(missing)


def need_for_marking() -> None:
    """Raise UsageError where what the marking page needs is not installed."""
    lacking = [name for name in FOR_MARKING if importlib.util.find_spec(name) is None]
    if lacking:
        raise UsageError(
            say("marking-by-hand-needs-too", missing=", ".join(lacking)),
            say("install-same-wheel-with-extra-pip"),
        )


def only_self_check(missing: Iterable[str]) -> UsageError:
    """Return the error of an installation without what grading needs.

    A notebook would be graded all the same, and lose all points where its imports fail.
    """
    return UsageError(
        say("only-self-check-installed-grading-needs-too", missing=", ".join(missing)),
        say("install-same-wheel-with-extra-pip-install"),
    )


def need_cluster() -> None:
    """Raise UsageError where what a cluster needs is not installed."""
    if importlib.util.find_spec("distributed") is None:
        raise UsageError(
            say("cluster-needs-too", missing="distributed"),
            say("install-same-wheel-with-extra-pip-install-file"),
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


SLOW = ("torchvision", "matplotlib")
"""Packages that take long to import: nine tenths and three tenths of a second."""


@functools.lru_cache(maxsize=64)
def bound_names(preamble: str) -> dict[str, str]:
    """Return the names that imports bind, each with its import. Raises ValueError."""
    try:
        statements = ast.parse(preamble).body
    except SyntaxError as error:
        raise ValueError(f"`preamble` is no Python: {error.msg}") from None
    names: dict[str, str] = {}
    for statement in statements:
        if not isinstance(statement, ast.Import | ast.ImportFrom):
            told = f"line {statement.lineno} of `preamble` is no import"
            raise ValueError(told)  # noqa: TRY004 - it is the text that is wrong
        for alias in statement.names:
            alone = ast.unparse(_alone(statement, alias))
            names[alias.asname or alias.name.partition(".")[0]] = alone
    return names


def slow_imports(preambles: Iterable[str]) -> tuple[str, ...]:
    """Return which of the slow packages assignments' own notebooks import, by their preambles."""
    texts = [text for preamble in preambles for text in bound_names(preamble).values()]
    return tuple(name for name in SLOW if any(re.search(rf"\b{name}\b", text) for text in texts))


def _alone(statement: ast.Import | ast.ImportFrom, alias: ast.alias) -> ast.stmt:
    if isinstance(statement, ast.Import):
        return ast.Import([alias])
    return ast.ImportFrom(statement.module, [alias], statement.level)


def missing_import(preamble: str, name: str) -> Text:
    """Return what to do about a name that is not defined; empty where the preamble binds none."""
    statement = bound_names(preamble).get(name)
    if statement is None:
        return NOTHING
    return say("assignments-own-notebook-imports-put-before", statement=statement)
