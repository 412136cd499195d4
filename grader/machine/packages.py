"""The system's package manager: the command that installs what is missing on this machine."""

import os
import shutil
from collections.abc import Callable
from typing import NamedTuple

from grader.language import Text, foreign, say

Finder = Callable[[str], "str | None"]
"""Looks up a program by its name, as `shutil.which`."""


class Manager(NamedTuple):
    """A package manager: its program, the words that install, and those that ask no question.

    `update` fetches the lists of packages, which a fresh image does not have, where installing
    does not do so by itself.
    """

    program: str
    install: str
    unattended: str
    update: str = ""

    def commands(self, package: str, *, asks: bool) -> list[list[str]]:
        """Return the commands that install a package, in order; or those that ask nothing."""
        words = [self.program, *(() if asks else self.unattended.split())]
        verbs = [verb for verb in (self.update, f"{self.install} {package}") if verb]
        return [[*words, *verb.split()] for verb in verbs]


MANAGERS = (
    Manager("apt-get", "install", "-y -qq", "update"),
    Manager("dnf", "install", "-y -q"),
    Manager("pacman", "-Sy", "--noconfirm --needed"),
    Manager("zypper", "install", "--non-interactive --quiet"),
    Manager("apk", "add --update-cache", "--quiet"),
)
"""All of them call bubblewrap, runc, chromium, gcc and util-linux by these names."""


def find_manager(find: Finder = shutil.which) -> Manager | None:
    """Return the package manager of this system, None where it has none that is known here."""
    return next((each for each in MANAGERS if find(each.program)), None)


def as_root(command: str, find: Finder = shutil.which, user: int | None = None) -> str:
    """Return what a person types here to have a command run by root.

    Root types it as it is: an image of a container has no sudo. `user` is the numeric id of who
    types, this process's if not given.
    """
    if (os.geteuid() if user is None else user) == 0:
        return command
    return f"sudo {command}" if find("sudo") else f'su -c "{command}"'


def install_command(package: str, find: Finder = shutil.which, user: int | None = None) -> str:
    """Return the line that installs a package here, "" where no package manager is known."""
    manager = find_manager(find)
    if manager is None:
        return ""
    lines = [" ".join(words) for words in manager.commands(package, asks=True)]
    if find("sudo"):
        return " && ".join(as_root(line, find, user) for line in lines)
    return as_root(" && ".join(lines), find, user)


def how_to_install(package: str, find: Finder = shutil.which, user: int | None = None) -> Text:
    """Return a phrase that says how a package is installed here: a command, if one is known."""
    command = install_command(package, find, user)
    if command:
        return foreign(command)
    return say("package-by-package-manager-this-system", package=package)
