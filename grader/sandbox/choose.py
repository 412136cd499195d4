"""The choice of a sandbox: what works here is found by doing it once, strongest first."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Collection, Sequence
from pathlib import Path

import msgspec

from grader.errors import SandboxError
from grader.inside.launcher import linux
from grader.language import NOTHING, Text, below, join, say
from grader.machine.packages import Finder, find_manager
from grader.sandbox.box import Boxes
from grader.sandbox.bubblewrap import find_bubblewrap
from grader.sandbox.container import find_container
from grader.sandbox.folder import FolderBoxes
from grader.sandbox.groups import find_groups
from grader.sandbox.interface import LEVELS, Level
from grader.sandbox.protected import covers
from grader.sandbox.start import SteppingSandbox
from grader.sandbox.trial import try_out


class Finding(msgspec.Struct, frozen=True):
    """Whether a level works here: what it is, or why it does not work and what mends that."""

    level: Level
    works: bool
    detail: Text
    hint: Text = NOTHING


def choose_sandbox(
    demanded: Level | None = None,
    minimum: Level = "basic",
    find: Finder = shutil.which,
    protected: Collection[Path] = (),
    imports: Sequence[str] = (),
) -> SteppingSandbox:
    """Return the strongest sandbox that works here, or the one of the level `demanded`.

    To be closed by the caller. From the level "basic" on, submissions cannot read the files and
    folders `protected`, wherever they lie. `imports` are modules that their notebooks import: they
    are there when a kernel starts. Raises SandboxError when there is none, or none as strong as
    `minimum`; it tells why, and what mends it.
    """
    if demanded is not None and _is_weaker(demanded, minimum):
        raise SandboxError(
            say(
                'The assignment asks for the sandbox level "{minimum}" or a stronger one, '
                '"{demanded}" is weaker.',
                minimum=str(minimum),
                demanded=str(demanded),
            ),
            say("Leave out --sandbox, or change `minimum` under [sandbox] in assignment.toml."),
        )
    if demanded not in ("minimal", "none"):
        covers(protected)  # a weaker level must not be the way out of what no level can keep
    reasons: dict[Level, SandboxError] = {}
    for level in LEVELS if demanded is None else (demanded,):
        if _is_weaker(level, minimum):
            break
        try:
            return _open(level, find, protected, imports)
        except SandboxError as error:
            reasons[level] = error
    raise _refusal(reasons, minimum if demanded is None else demanded)


def survey(find: Finder = shutil.which) -> list[Finding]:
    """Try every level, strongest first."""
    return [_find_out(level, find) for level in LEVELS]


def _find_out(level: Level, find: Finder) -> Finding:
    try:
        with _open(level, find, ()) as sandbox:
            return Finding(level, True, sandbox.detail)
    except SandboxError as error:
        return Finding(level, False, error.message, error.hint)


def _refusal(reasons: dict[Level, SandboxError], wanted: Level) -> SandboxError:
    """Return the error that says why not even the weakest permitted level works."""
    (_, first), *others = reasons.items()
    more = [
        join(say('"{level}" does not work either:', level=level), each.message)
        for level, each in others
    ]
    hint = first.hint
    if others and find_manager() is None:  # then the first names no command
        hint = below(hint, join(say("Or:"), others[-1][1].hint))
    none = say('There is no sandbox of the level "{wanted}".', wanted=wanted)
    return SandboxError(join(none, first.message, *more), hint)


def _is_weaker(level: Level, other: Level) -> bool:
    return LEVELS.index(level) > LEVELS.index(other)


def _open(
    level: Level, find: Finder, protected: Collection[Path], imports: Sequence[str] = ()
) -> SteppingSandbox:
    """Return a sandbox of this level that was tried out. Raises SandboxError."""
    sandbox = SteppingSandbox(_boxes(level, find, protected), find_groups(), imports)
    try:
        try_out(sandbox)
    except BaseException:
        sandbox.close()
        raise
    return sandbox


def _boxes(level: Level, find: Finder, protected: Collection[Path]) -> Boxes:
    if not sys.platform.startswith("linux"):
        raise SandboxError(
            say("The sandbox needs Linux."),
            say("Run the grader in a Linux virtual machine or container."),
        )
    as_root = os.geteuid() == 0
    if level == "strong":
        return find_bubblewrap(find, as_root=as_root, protected=protected)
    if level == "container":
        return find_container(find, as_root=as_root, protected=protected)
    if level == "basic" and linux.landlock_version() < 1:
        raise SandboxError(
            say("This kernel has no Landlock."),
            say("Use Linux 5.13 or newer, and start it with lsm=landlock among others."),
        )
    return FolderBoxes(level, as_root=as_root, protected=protected)
