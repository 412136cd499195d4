"""Running a command where the machine seems to lack something.

What is hidden is covered in a mount namespace of the command's own: nothing of the machine changes.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.missing import lack, no_mount

PROGRAMS = """
for program in {names}; do
    for folder in /usr/local/bin /usr/bin /usr/sbin /bin /sbin; do
        [ ! -e "$folder/$program" ] || mount --bind /dev/null "$folder/$program"
    done
done
"""
FOLDERS = """
for folder in {names}; do
    [ ! -d "$folder" ] || mount -t tmpfs -o ro tmpfs "$folder"
done
"""
FILES = """
for file in {names}; do
    [ ! -e "$file" ] || mount --bind /dev/null "$file"
done
"""


class Lack(NamedTuple):
    """What is missing: a script that hides it, and variables to set, or to unset where None."""

    script: str = ""
    variables: Mapping[str, str | None] = {}


NOWHERE = "/nonexistent"
LACKS = {
    "compilers": Lack(
        PROGRAMS.format(names="g++ gcc clang++ clang c++ cc as ld nm ar"), {"CC": None, "CXX": None}
    ),
    "ldconfig": Lack(PROGRAMS.format(names="ldconfig") + FILES.format(names="/etc/ld.so.cache")),
    "shared memory": Lack(FOLDERS.format(names="/dev/shm")),
    "home": Lack(variables={"HOME": None}),
    "home to write in": Lack(variables={"HOME": NOWHERE, "XDG_CACHE_HOME": None}),
    "folder in TMPDIR": Lack(variables={"TMPDIR": NOWHERE}),
    "fonts": Lack(
        FOLDERS.format(names="/etc/fonts /usr/share/fonts") + PROGRAMS.format(names="fc-list")
    ),
    "locales": Lack(
        FOLDERS.format(names="/usr/lib/locale /usr/share/locale"),
        {"LANG": None, "LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    ),
    "users": Lack(
        FILES.format(names="/etc/passwd /etc/group /etc/nsswitch.conf"),
        {"USER": None, "LOGNAME": None},
    ),
    "/sys": Lack(FOLDERS.format(names="/sys")),
    "clock and names": Lack(
        FILES.format(names="/etc/localtime /etc/hosts")
        + FOLDERS.format(names="/usr/share/zoneinfo")
    ),
    "bubblewrap": Lack(PROGRAMS.format(names="bwrap")),
}
"""Each by its name."""


def together(lacks: Mapping[str, Lack]) -> Lack:
    """Return all of them at once."""
    variables: dict[str, str | None] = {}
    for each in lacks.values():
        variables.update(each.variables)
    return Lack("".join(each.script for each in lacks.values()), variables)


def run_lacking(
    hidden: Lack, command: Sequence[str | Path], folder: Path
) -> subprocess.CompletedProcess[str]:
    """Run a command in `folder` without what is hidden. Skip the test where nothing can be."""
    own = ["--mount"] if os.geteuid() == 0 else ["--mount", "--user", "--map-root-user"]
    tried = subprocess.run(
        ["unshare", *own, "--", "mount", "--bind", "/dev/null", "/dev/null"],
        capture_output=True,
        text=True,
    )
    if tried.returncode:
        lack(no_mount(tried.stderr))
    kept = {name: value for name, value in os.environ.items() if name not in hidden.variables}
    changed = {name: value for name, value in hidden.variables.items() if value is not None}
    return subprocess.run(
        ["unshare", *own, "--", "sh", "-euc", f'{hidden.script}\nexec "$@"', "sh", *command],
        capture_output=True,
        text=True,
        errors="replace",
        cwd=folder,
        env={**kept, "COLUMNS": "100", **changed},
    )
