"""What mends a machine on which a sandbox does not start, by what was said when it failed."""

from __future__ import annotations

INSTALL_BUBBLEWRAP = "Install it: sudo apt-get install bubblewrap"
INSTALL_RUNTIME = "Install one: sudo apt-get install runc (it comes with docker and podman too)"

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
    "setns": _NAMESPACES,
    "cgroups in hybrid mode": "Use runc: sudo apt-get install runc",
    "Can't mount proc": _PROC,
    "setpriv": "Install it: sudo apt-get install util-linux",
    "landlock": "Use Linux 5.13 or newer, and a container that does not forbid Landlock.",
    "Permission denied": (
        "Other users must be able to read the Python environment: install the grader into a "
        "virtual environment made with umask 022, outside of a home that is closed to others."
    ),
    "No module named": (
        "The sandbox sees only the interpreter's own folder: install the grader into a virtual "
        "environment (python3 -m venv)."
    ),
}


def hint_for(message: str) -> str:
    """Return what to do about the message of a sandbox that did not start."""
    matching = (hint for clue, hint in _HINTS.items() if clue in message)
    return next(matching, "Run `bwrap --unshare-all --ro-bind / / true` to see what is missing.")
