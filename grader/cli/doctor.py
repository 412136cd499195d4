"""`grader doctor`: what this machine offers for grading."""

from __future__ import annotations

import sys
from pathlib import Path

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from grader.assignment import SandboxNeeds
from grader.cli.doctor_notebooks import find_faults, kernel_python, try_imports
from grader.dialects.table import describe_api
from grader.environment import (
    describe_environment,
    missing_for_grading,
    only_self_check,
)
from grader.inside.launcher.sockets import can_count
from grader.sandbox.choose import LevelFinding, survey
from grader.sandbox.groups import Groups, find_groups
from grader.sandbox.interface import LEVELS, Level


def examine(console: Console) -> bool:
    """Print what was found. Returns whether submissions can be graded here."""
    environment = describe_environment()
    console.print(f"Python    {environment.python}", highlight=False)
    console.print(f"CPU       {environment.cpu}, {environment.cores} cores", highlight=False)
    for name, version in environment.packages.items():
        console.print(f"          {name} {version}", highlight=False, markup=False)
    tvm = environment.packages.get("apache-tvm", "")
    console.print(f"TVM       {tvm}: {describe_api(tvm)}", highlight=False, markup=False)
    groups = find_groups()
    counted = describe_counting(groups, sockets=can_count())
    console.print(f"Memory    {counted}", highlight=False, markup=False)
    missing = _print_notebooks(console)
    findings = survey()
    for finding in findings:
        _print_finding(finding, console)
    chosen = next((finding.level for finding in findings if finding.works), None)
    return _print_choice(chosen, console) and not missing


def _print_notebooks(console: Console) -> tuple[str, ...]:
    """Say what a student's own kernel cannot import. Returns what grading misses altogether."""
    python = kernel_python()
    if Path(python) != Path(sys.executable):
        console.print(f"Kernel    Jupyter runs {python}", highlight=False, markup=False)
    found = list(
        find_faults(
            try_imports(python, helped=False), lambda: try_imports(sys.executable, helped=True)
        )
    )
    if not found:
        console.print("Notebooks can import all that the course's notebooks do", highlight=False)
    for each in found:
        console.print(Text("Notebooks"))
        for text in (each.message, each.hint):
            console.print(Padding(Text(text), (0, 0, 0, 10)))
    missing = missing_for_grading()
    if missing:
        error = only_self_check(missing)
        console.print(Text("Grading   the self-check alone works"))
        for told in (error.message, error.hint):
            console.print(Padding(Text(told.english), (0, 0, 0, 10)))
    return missing


def describe_counting(groups: Groups | None, *, sockets: bool) -> str:
    """Return how it is known what memory a submission uses; `sockets`: theirs can be counted."""
    if groups is not None:
        kinds = ", ".join(groups.controllers)
        return f"cgroup: the kernel counts, in control groups of version {groups.version} ({kinds})"
    what = "sockets and pipes too" if sockets else "but not what sockets hold"
    return (
        f"watch: submissions are looked at ten times a second, {what}. As a user of systemd, start"
        " the grader with systemd-run --user --scope -p Delegate=yes to have the kernel count."
    )


def _print_finding(finding: LevelFinding, console: Console) -> None:
    state = "works" if finding.works else "does not work"
    console.print(f"Sandbox   {finding.level} {state}", highlight=False, markup=False)
    for text in filter(None, (finding.detail, finding.hint)):
        console.print(Padding(Text(text.english), (0, 0, 0, 10)))


def _print_choice(chosen: Level | None, console: Console) -> bool:
    """Say which level will be used. Returns whether it is one to grade other people's work in."""
    if chosen is None:
        console.print("Used      none: no submission can be graded here.", highlight=False)
        return False
    minimum = SandboxNeeds().minimum
    enough = LEVELS.index(chosen) <= LEVELS.index(minimum)
    advice = (
        "" if enough else f" Assignments ask for {minimum} or stronger, unless they say otherwise."
    )
    console.print(f"Used      {chosen}.{advice}", highlight=False, markup=False)
    return enough
