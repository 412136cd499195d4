"""Write constraints.txt: the versions that this environment holds of all that the project needs.

Run it in an environment that the project was installed in with its dev extra. What needs a newer
Python than the oldest supported one gets a marker: below it pip chooses the version, within the
bounds of pyproject.toml.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # type: ignore[import-not-found,unused-ignore]

ROOT = Path(__file__).parents[1]
TARGET = ROOT / "constraints.txt"
PYTHONS = ("3.10", "3.11", "3.12")
"""Supported versions of Python, from the oldest."""

INSTALLERS = {"pip", "setuptools", "wheel"}
HEADER = "# Written by tools/make_constraints.py. Exact versions of all dependencies, for pip -c.\n"


def project_requirements(path: Path = ROOT / "pyproject.toml") -> list[Requirement]:
    """Return the direct dependencies, with those of all extras."""
    project = tomllib.loads(path.read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"].values()
    lines = [line for each in (project["dependencies"], *extras) for line in each]
    found = map(Requirement, lines)
    return [each for each in found if each.name != project["name"]]  # an extra with another one


def closure(requirements: Iterable[Requirement]) -> dict[str, metadata.Distribution]:
    """Return all distributions that are needed here, directly or not, by normalized name.

    Raises PackageNotFoundError for one that is not installed.
    """
    found: dict[str, metadata.Distribution] = {}
    done: set[tuple[str, str]] = set()
    waiting = [(requirement, "") for requirement in requirements]
    while waiting:
        requirement, extra = waiting.pop()
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": extra}):
            continue
        name = canonicalize_name(requirement.name)
        found.setdefault(name, metadata.distribution(requirement.name))
        for wanted in {"", *requirement.extras}:
            if (name, wanted) not in done:
                done.add((name, wanted))
                needs = found[name].requires or ()
                waiting += [(Requirement(line), wanted) for line in needs]
    return found


def constraint_lines(distributions: dict[str, metadata.Distribution]) -> Iterator[str]:
    """Yield "name==version" or "name==version; marker", sorted by name."""
    for name in sorted(distributions.keys() - INSTALLERS):
        distribution = distributions[name]
        version = Version(distribution.version).public  # without "+cpu"
        requires = distribution.metadata.get_all("Requires-Python") or [""]
        yield f"{name}=={version}{_marker(SpecifierSet(requires[0]))}"


def _marker(requires: SpecifierSet) -> str:
    """Return from which Python on a version can be installed.

    Debian 12 has Python 3.11.2, and some versions need 3.11.5: pip has others for it.
    """
    patches = ((python, patch) for python in PYTHONS for patch in range(100))
    oldest, patch = next(each for each in patches if requires.contains(f"{each[0]}.{each[1]}"))
    if patch:
        return f'; python_full_version >= "{oldest}.{patch}"'
    return "" if oldest == PYTHONS[0] else f'; python_version >= "{oldest}"'


def constraints() -> str:
    """Return the whole file."""
    lines = constraint_lines(closure(project_requirements()))
    return HEADER + "".join(f"{line}\n" for line in lines)


if __name__ == "__main__":
    TARGET.write_text(constraints(), encoding="utf-8")
