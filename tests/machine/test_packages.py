"""The command that is named installs the package on this very system, for whoever types it."""

from __future__ import annotations

from grader.machine.packages import as_root, how_to_install, install_command

SUDO, NOBODY = {"sudo": "/usr/bin/sudo"}, 1000


def test_root_needs_no_sudo() -> None:
    find = {"dnf": "/usr/bin/dnf", **SUDO}.get
    assert "dnf install runc" == install_command("runc", find, user=0)


def test_a_user_needs_it_for_each_command() -> None:
    find = {"apt-get": "/usr/bin/apt-get", **SUDO}.get
    line = install_command("runc", find, NOBODY)
    assert "sudo apt-get update && sudo apt-get install runc" == line


def test_where_there_is_no_sudo_a_user_becomes_root_once() -> None:
    line = install_command("runc", {"apt-get": "/usr/bin/apt-get"}.get, NOBODY)
    assert 'su -c "apt-get update && apt-get install runc"' == line
    assert 'su -c "true"' == as_root("true", {}.get, NOBODY)


def test_without_a_known_manager_the_package_is_named() -> None:
    assert not install_command("chromium", {}.get, user=0)
    assert "the package chromium" in how_to_install("chromium", {}.get, user=0).english
