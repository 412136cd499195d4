"""`grader doctor`: what this machine offers for grading."""

from __future__ import annotations

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from grader.assignment import SandboxNeeds
from grader.dialects.table import describe_api
from grader.environment import describe_environment
from grader.launch.sockets import can_count
from grader.sandbox.choose import Finding, survey
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
    findings = survey()
    for finding in findings:
        _print_finding(finding, console)
    chosen = next((finding.level for finding in findings if finding.works), None)
    return _print_choice(chosen, console)


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


def _print_finding(finding: Finding, console: Console) -> None:
    state = "works" if finding.works else "does not work"
    console.print(f"Sandbox   {finding.level} {state}", highlight=False, markup=False)
    for text in filter(None, (finding.detail, finding.hint)):
        console.print(Padding(Text(text), (0, 0, 0, 10)))


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
