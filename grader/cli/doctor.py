"""`grader doctor`: what this machine offers for grading."""

from __future__ import annotations

import sys
from pathlib import Path

from rich.console import Console

from grader.assignment import SandboxNeeds
from grader.cli.doctor_notebooks import find_faults, kernel_python, try_imports
from grader.cli.telling import tell_beside
from grader.dialects.table import describe_api
from grader.environment import (
    describe_environment,
    missing_for_grading,
    only_self_check,
)
from grader.inside.launcher.sockets import can_count
from grader.language import Text, counted, in_a_row, join, say
from grader.sandbox.choose import LevelFinding, survey
from grader.sandbox.groups import Groups, find_groups
from grader.sandbox.interface import LEVELS, Level


def examine(console: Console) -> bool:
    """Print what was found. Returns whether submissions can be graded here."""
    environment = describe_environment()
    tell_beside(console, "Python", environment.python)
    one, many = say("{count} core"), say("{count} cores")
    cores = counted(environment.cores, one, many)
    tell_beside(console, "CPU", in_a_row([environment.cpu, cores]))
    for name, version in environment.packages.items():
        tell_beside(console, "", f"{name} {version}")
    tvm = environment.packages.get("apache-tvm", "")
    tell_beside(console, "TVM", say("{version}: {what}", version=tvm, what=describe_api(tvm)))
    tell_beside(console, say("Memory"), describe_counting(find_groups(), sockets=can_count()))
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
        tell_beside(console, say("Kernel"), say("Jupyter runs {python}", python=python))
    found = list(
        find_faults(
            try_imports(python, helped=False), lambda: try_imports(sys.executable, helped=True)
        )
    )
    if not found:
        all_of_them = say("can import all that the course's notebooks do")
        tell_beside(console, say("Notebooks"), all_of_them)
    for each in found:
        _tell_below(console, say("Notebooks"), each.message, each.hint)
    missing = missing_for_grading()
    if missing:
        error = only_self_check(missing)
        tell_beside(console, say("Grading"), say("the self-check alone works"))
        _tell_below(console, "", error.message, error.hint)
    return missing


def describe_counting(groups: Groups | None, *, sockets: bool) -> Text:
    """Return how it is known what memory a submission uses; `sockets`: theirs can be counted."""
    if groups is not None:
        return say(
            "cgroup: the kernel counts, in control groups of version {version} ({kinds})",
            version=groups.version,
            kinds=in_a_row(groups.controllers),
        )
    looked_at = say(
        "watch: submissions are looked at ten times a second, but not what sockets hold."
    )
    if sockets:
        looked_at = say(
            "watch: submissions are looked at ten times a second, sockets and pipes too."
        )
    mended = say(
        "As a user of systemd, start the grader with systemd-run --user --scope -p Delegate=yes to"
        " have the kernel count."
    )
    return join(looked_at, mended)


def _print_finding(finding: LevelFinding, console: Console) -> None:
    state = say("{level} does not work", level=finding.level)
    if finding.works:
        state = say("{level} works", level=finding.level)
    tell_beside(console, say("Sandbox"), state)
    _tell_below(console, "", finding.detail, finding.hint)


def _print_choice(chosen: Level | None, console: Console) -> bool:
    """Say which level will be used. Returns whether it is one to grade other people's work in."""
    if chosen is None:
        tell_beside(console, say("Used"), say("none: no submission can be graded here."))
        return False
    minimum = SandboxNeeds().minimum
    enough = LEVELS.index(chosen) <= LEVELS.index(minimum)
    used = say("{level}.", level=chosen)
    if not enough:
        used = say(
            "{level}. Assignments ask for {minimum} or stronger, unless they say otherwise.",
            level=chosen,
            minimum=minimum,
        )
    tell_beside(console, say("Used"), used)
    return enough


def _tell_below(console: Console, label: str | Text, *texts: Text) -> None:
    """Print texts below one another beside one label; those that say nothing are left out."""
    for text in filter(None, texts):
        tell_beside(console, label, text)
        label = ""
