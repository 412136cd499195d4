"""The choice of a sandbox: what works here is found by doing it once."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable

from grader.errors import SandboxError
from grader.sandbox.bubblewrap import BubblewrapSandbox
from grader.sandbox.interface import Command, Sandbox

_TRIAL_SECONDS = 60.0
_REQUIRED = ("--args", "--perms", "--size", "--info-fd", "--ro-bind-data")
_INSTALL = "Install it: sudo apt-get install bubblewrap"
_NAMESPACES = (
    "Allow user namespaces: sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0 "
    "kernel.unprivileged_userns_clone=1 user.max_user_namespaces=10000 (leave out what this system "
    "does not know). In a container: docker run --security-opt seccomp=unconfined "
    "--security-opt systempaths=unconfined."
)
_PROC = (
    "In a container, start it with --security-opt systempaths=unconfined "
    "--security-opt seccomp=unconfined."
)
_HINTS = {
    "namespace": _NAMESPACES,
    "uid map": _NAMESPACES,
    "loopback": _NAMESPACES,
    "Can't mount proc": _PROC,
    "setpriv": "Install it: sudo apt-get install util-linux",
    "prlimit": "Install it: sudo apt-get install util-linux",
    "Permission denied": (
        "Other users must be able to read the Python environment: install the grader into a "
        "virtual environment made with umask 022."
    ),
    "No module named": (
        "The sandbox sees only the interpreter's own folder: install the grader into a virtual "
        "environment (python3 -m venv)."
    ),
}


def choose_sandbox(find: Callable[[str], str | None] = shutil.which) -> Sandbox:
    """Return the strongest sandbox that works here; `find` looks up a program by its name.

    Raises SandboxError, with the command that mends it, when there is none.
    """
    if not sys.platform.startswith("linux"):
        raise SandboxError(
            "The sandbox needs Linux.",
            "Run the grader in a Linux virtual machine or container.",
        )
    executable = find("bwrap")
    if executable is None:
        raise SandboxError("The program bwrap (bubblewrap) is not installed.", _INSTALL)
    options = frozenset(_ask(executable, "--help").split())
    missing = [option for option in _REQUIRED if option not in options]
    if missing:
        raise SandboxError(
            f"This bubblewrap is too old: it does not know {missing[0]}.",
            "Install bubblewrap 0.8 or newer: sudo apt-get install bubblewrap",
        )
    sandbox = BubblewrapSandbox(
        executable, _ask(executable, "--version").strip(), options, as_root=os.geteuid() == 0
    )
    _try(sandbox)
    return sandbox


def _ask(executable: str, option: str) -> str:
    try:
        answer = subprocess.run(  # noqa: S603
            [executable, option],
            capture_output=True,
            text=True,
            timeout=_TRIAL_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SandboxError(f"{executable} cannot be run: {error}.", _INSTALL) from None
    return answer.stdout


def _try(sandbox: BubblewrapSandbox) -> None:
    """Run Python in the sandbox once and import a package from outside the standard library."""
    try:
        process = sandbox.start(Command(("-c", "import msgspec")))
    except SandboxError as error:
        raise SandboxError(error.message, _hint(error.message)) from None
    try:
        status = process.wait(_TRIAL_SECONDS)
    finally:
        process.kill()
    if status != 0:
        lines = process.standard_error.strip().splitlines()
        reason = lines[-1] if lines else "it gave no reason"
        raise SandboxError(f"Python does not run in the sandbox: {reason}", _hint(reason))


def _hint(message: str) -> str:
    matching = (hint for clue, hint in _HINTS.items() if clue in message)
    return next(matching, "Run `bwrap --unshare-all --ro-bind / / true` to see what is missing.")
