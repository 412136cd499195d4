"""`make setup` installs bubblewrap with whatever package manager there is, and asks nobody.

The package managers are stand-ins that write down how they were called: the real ones would change
the machine that runs the tests.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from shutil import which

import pytest

SCRIPT = Path(__file__).parents[2] / "tools" / "install_bubblewrap.sh"
INSTALLS = """#!/bin/sh
folder=${0%/*}
echo "${0##*/} $*" >>"$folder/calls"
: >"$folder/bwrap"
chmod +x "$folder/bwrap"
"""
REFUSES = "#!/bin/sh\necho no network\nexit 1\n"
SUDO = '#!/bin/sh\n[ "$1" = -n ] && shift\nexec "$@"\n'


class Machine:
    """A folder of programs, which is all that the script finds."""

    def __init__(self, folder: Path, user: int) -> None:
        self.folder = folder
        self.add("id", f"#!/bin/sh\necho {user}\n")
        self.add("true", "#!/bin/sh\n")
        (folder / "chmod").symlink_to(which("chmod") or "")

    def add(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text)
        (self.folder / name).chmod(0o755)

    def set_up(self) -> str:
        """Run the script, which always ends well; return what it says."""
        words = ["/bin/sh", str(SCRIPT)]
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


@pytest.mark.parametrize("manager", ["apt-get", "dnf", "pacman", "zypper", "apk"])
def test_each_package_manager_installs_it_without_a_question(root: Machine, manager: str) -> None:
    root.add(manager, INSTALLS)
    assert f"Installing bubblewrap, which sandboxes are made with: {manager} " in root.set_up()
    assert root.calls.splitlines()[-1].startswith(manager)
    assert root.calls.splitlines()[-1].endswith("bubblewrap")


def test_what_is_there_is_not_installed_again(root: Machine) -> None:
    root.add("apt-get", INSTALLS)
    root.add("bwrap", "#!/bin/sh\n")
    assert not root.set_up()
    assert not root.calls


def test_a_user_whom_sudo_asks_nothing_has_it_installed(user: Machine) -> None:
    user.add("dnf", INSTALLS)
    user.add("sudo", SUDO)
    user.set_up()
    assert "dnf install -y -q bubblewrap\n" == user.calls


def test_a_user_without_such_a_sudo_is_told_the_command(user: Machine) -> None:
    user.add("apt-get", INSTALLS)
    user.add("sudo", REFUSES)
    assert "run: sudo apt-get install -y -qq bubblewrap" in user.set_up()
    assert not user.calls


def test_what_the_manager_said_is_shown_where_it_failed(root: Machine) -> None:
    root.add("apk", REFUSES)
    said = root.set_up()
    assert "no network" in said
    assert "To try again: apk add --quiet bubblewrap" in said


def test_a_system_without_a_known_manager_goes_on(root: Machine) -> None:
    assert "no package manager is known here" in root.set_up()
