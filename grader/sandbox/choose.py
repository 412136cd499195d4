"""The choice of a sandbox: what works here is found by doing it once, strongest first."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable

import msgspec

from grader.errors import SandboxError
from grader.launch import linux
from grader.sandbox.box import Boxes
from grader.sandbox.bubblewrap import find_bubblewrap
from grader.sandbox.folder import FolderBoxes
from grader.sandbox.groups import find_groups
from grader.sandbox.hints import hint_for
from grader.sandbox.interface import LEVELS, Command, Level
from grader.sandbox.start import SteppingSandbox

Finder = Callable[[str], "str | None"]
"""Looks up a program by its name, as `shutil.which`."""

_TRIAL_SECONDS = 60.0
_TRIAL = """
import msgspec
lines = open("/proc/self/status").read().splitlines()
status = dict(line.split(":", 1) for line in lines)
powers = {name: status[name].strip() for name in ("CapEff", "CapPrm", "CapBnd", "NoNewPrivs")}
powers["Seccomp"] = status["Seccomp"].strip()
raise SystemExit(" ".join(f"{name}={value}" for name, value in powers.items()))
"""
_POWERLESS = {"CapEff": 0, "CapPrm": 0, "NoNewPrivs": 1, "Seccomp": 2}


class Finding(msgspec.Struct, frozen=True):
    """Whether a level works here: what it is, or why it does not work and what mends that."""

    level: Level
    works: bool
    detail: str
    hint: str = ""


def choose_sandbox(
    demanded: Level | None = None, minimum: Level = "basic", find: Finder = shutil.which
) -> SteppingSandbox:
    """Return the strongest sandbox that works here, or the one of the level `demanded`.

    To be closed by the caller. Raises SandboxError when there is none, or none as strong as
    `minimum`; it tells why, and what mends it.
    """
    if demanded is not None and _is_weaker(demanded, minimum):
        raise SandboxError(
            f'The assignment asks for the sandbox level "{minimum}" or a stronger one, '
            f'"{demanded}" is weaker.',
            "Leave out --sandbox, or change `minimum` under [sandbox] in assignment.toml.",
        )
    reasons: dict[Level, SandboxError] = {}
    for level in LEVELS if demanded is None else (demanded,):
        if _is_weaker(level, minimum):
            break
        try:
            return _open(level, find)
        except SandboxError as error:
            reasons[level] = error
    raise _refusal(reasons, minimum if demanded is None else demanded)


def survey(find: Finder = shutil.which) -> list[Finding]:
    """Try every level, strongest first."""
    return [_find_out(level, find) for level in LEVELS]


def _find_out(level: Level, find: Finder) -> Finding:
    try:
        with _open(level, find) as sandbox:
            return Finding(level, True, sandbox.detail)
    except SandboxError as error:
        return Finding(level, False, error.message, error.hint)


def _refusal(reasons: dict[Level, SandboxError], wanted: Level) -> SandboxError:
    """Return the error that says why not even the weakest permitted level works."""
    (_, first), *others = reasons.items()
    more = "".join(f' "{level}" does not work either: {each.message}' for level, each in others)
    return SandboxError(
        f'There is no sandbox of the level "{wanted}". {first.message}{more}', first.hint
    )


def _is_weaker(level: Level, other: Level) -> bool:
    return LEVELS.index(level) > LEVELS.index(other)


def _open(level: Level, find: Finder) -> SteppingSandbox:
    """Return a sandbox of this level in which Python has run once. Raises SandboxError."""
    sandbox = SteppingSandbox(_boxes(level, find), find_groups())
    try:
        _try(sandbox)
    except BaseException:
        sandbox.close()
        raise
    return sandbox


def _boxes(level: Level, find: Finder) -> Boxes:
    if not sys.platform.startswith("linux"):
        raise SandboxError(
            "The sandbox needs Linux.",
            "Run the grader in a Linux virtual machine or container.",
        )
    as_root = os.geteuid() == 0
    if level == "strong":
        return find_bubblewrap(find, as_root=as_root)
    if level == "basic" and linux.landlock_version() < 1:
        raise SandboxError(
            "This kernel has no Landlock.",
            "Use Linux 5.13 or newer, and start it with lsm=landlock among others.",
        )
    return FolderBoxes(level, as_root=as_root)


def _try(sandbox: SteppingSandbox) -> None:
    """Have Python import a package from outside the standard library, and look what it may do."""
    try:
        process = sandbox.start(Command("python", ("-c", _TRIAL)))
    except SandboxError as error:
        raise SandboxError(error.message, hint_for(error.message)) from None
    try:
        process.wait(_TRIAL_SECONDS)
    finally:
        process.kill()
    lines = process.standard_error.strip().splitlines()
    reason = process.start_failure or (lines[-1] if lines else "it gave no reason")
    if "CapEff=" not in reason:
        raise SandboxError(f"Python does not run in the sandbox: {reason}", hint_for(reason))
    if sandbox.level != "none":
        _check_powers(dict(pair.split("=") for pair in reason.split()))


def _check_powers(powers: dict[str, str]) -> None:
    kept = [name for name, value in _POWERLESS.items() if int(powers[name], 16) != value]
    if kept:
        raise SandboxError(
            f"A process in the sandbox has powers that it must not have: {', '.join(kept)}.",
            "Report this with the output of `grader doctor`: nothing was graded.",
        )
