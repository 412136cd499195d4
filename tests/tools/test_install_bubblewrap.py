"""`make setup` installs bubblewrap with whatever package manager there is, and asks nobody.

The package managers are stand-ins that write down how they were called: the real ones would change
the machine that runs the tests.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from shutil import which

import pytest

from grader.machine.packages import MANAGERS, Manager, install_command

TOOLS = Path(__file__).parents[2] / "tools"
PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
from install_bubblewrap import install
print(install(int(sys.argv[2])))
"""
INSTALLS = """#!/bin/sh
folder=${0%/*}
echo "${0##*/} $*" >>"$folder/calls"
: >"$folder/bwrap"
chmod +x "$folder/bwrap"
"""
REFUSES = "#!/bin/sh\necho no network\nexit 1\n"
SUDO = '#!/bin/sh\n[ "$1" = -n ] && shift\nexec "$@"\n'


class Machine:
    """A folder of programs, which is all that is found, and the number of a user."""

    def __init__(self, folder: Path, user: int) -> None:
        self.folder = folder
        self.user = user
        self.add("true", "#!/bin/sh\n")
        (folder / "chmod").symlink_to(which("chmod") or "")

    def add(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text)
        (self.folder / name).chmod(0o755)

    def set_up(self) -> str:
        """Do it, which always ends well; return what it says."""
        words = [sys.executable, "-c", PROGRAM, str(TOOLS), str(self.user)]
        environment = {"PATH": str(self.folder)}
        done = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
        return done.stdout + done.stderr

    @property
    def calls(self) -> str:
        path = self.folder / "calls"
        return path.read_text() if path.exists() else ""


@pytest.fixture
def root(tmp_path: Path) -> Machine:
    return Machine(tmp_path, user=0)


@pytest.fixture
def user(tmp_path: Path) -> Machine:
    return Machine(tmp_path, user=1000)


@pytest.mark.parametrize("manager", MANAGERS, ids=lambda each: each.program)
def test_each_package_manager_installs_it_without_a_question(
    root: Machine, manager: Manager
) -> None:
    root.add(manager.program, INSTALLS)
    said = root.set_up()
    assert f"Installing bubblewrap, which sandboxes are made with: {manager.program} " in said
    last = root.calls.splitlines()[-1]
    assert last.startswith(f"{manager.program} {manager.unattended} {manager.install}")
    assert last.endswith(" bubblewrap")


def test_what_is_there_is_not_installed_again(root: Machine) -> None:
    root.add("apt-get", INSTALLS)
    root.add("bwrap", "#!/bin/sh\n")
    assert not root.set_up().strip()
    assert not root.calls


def test_a_user_whom_sudo_asks_nothing_has_it_installed(user: Machine) -> None:
    user.add("dnf", INSTALLS)
    user.add("sudo", SUDO)
    user.set_up()
    assert "dnf -y -q install bubblewrap\n" == user.calls


def test_a_user_without_such_a_sudo_is_told_the_command(user: Machine) -> None:
    user.add("apt-get", INSTALLS)
    user.add("sudo", REFUSES)
    told = "sudo apt-get update && sudo apt-get install bubblewrap"
    assert f"For the strongest sandbox run: {told}" in user.set_up()
    assert not user.calls


def test_what_the_manager_said_is_shown_where_it_failed(root: Machine) -> None:
    root.add("apk", REFUSES)
    said = root.set_up()
    assert "no network" in said
    assert "To try again: apk add --update-cache bubblewrap" in said


def test_a_system_without_a_known_manager_goes_on(root: Machine) -> None:
    assert "no package manager is known here" in root.set_up()


def test_the_command_that_is_told_is_the_one_that_is_run() -> None:
    """The same but for what asks no question."""
    for manager in MANAGERS:
        told, run = (manager.commands("bubblewrap", asks=asks) for asks in (True, False))
        quiet = manager.unattended.split()
        assert told == [[word for word in words if word not in quiet] for words in run]
        line = install_command("bubblewrap", {manager.program: "here"}.get, user=0)
        assert line.endswith(" ".join(told[-1]))
